#include "agent/linux/nvml.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <numeric>

namespace paceline::agent {
namespace {

using Status = int;
using Device = void*;

constexpr Status kSuccess = 0;
constexpr Status kInsufficientSize = 7;
constexpr unsigned kMigEnabled = 1;
constexpr int kByNvlink = 2;         // of the capabilities that two GPUs may have with each other
constexpr int kP2pFine = 0;          // the status of a capability that is there
constexpr int kOneSwitchAbove = 10;  // an ancestor no higher: a board's own switch, or a single one
constexpr unsigned kProcessesMax = 4096;
constexpr std::size_t kTextMax = 96;

struct Memory {
  unsigned long long total = 0, free = 0, used = 0;
};

struct PciInfo {
  char legacy_bus_id[16] = {};
  unsigned domain = 0, bus = 0, device = 0, device_id = 0, subsystem_id = 0;
  char bus_id[32] = {};
};

// As the calls whose names end in _v2 and _v3 fill it.
struct ComputeProcess {
  unsigned pid = 0;
  unsigned long long used_memory = 0;
  unsigned gpu_instance = 0, compute_instance = 0;
};

struct DriverEvent {
  Device device = nullptr;
  unsigned long long type = 0, data = 0;
  unsigned gpu_instance = 0, compute_instance = 0;
};

constexpr unsigned long long kXidEvent = 8;
constexpr int kUncorrected = 1;  // of the types of memory errors
constexpr int kSinceDriver = 0;  // of the counters of each
constexpr int kXidsAtOnce = 256;

}  // namespace

struct Nvml::Functions {
  ~Functions() {
    if (events != nullptr) free_events(events);
    if (initialised) shutdown();
    if (library != nullptr) ::dlclose(library);
  }

  template <class F>
  bool find(F*& function, const char* symbol) {
    function = reinterpret_cast<F*>(::dlsym(library, symbol));
    return function != nullptr;
  }
  bool find_all();

  bool nvlink_joins(Device a, Device b) const;
  bool switch_joins(Device a, Device b) const;
  std::vector<pid_t> processes(Device device) const;
  bool describe(Device device, GpuDevice& into) const;
  bool is_divided(Device device) const;
  void look_at_memory(Device device, GpuDevice& into) const;
  void listen_for_errors();
  void append_slices(Device device, const GpuDevice& whole, std::vector<GpuDevice>& all) const;

  void* library = nullptr;
  bool initialised = false;
  Status (*init)() = nullptr;
  Status (*shutdown)() = nullptr;
  Status (*count)(unsigned*) = nullptr;
  Status (*handle)(unsigned, Device*) = nullptr;
  Status (*uuid)(Device, char*, unsigned) = nullptr;
  Status (*name)(Device, char*, unsigned) = nullptr;
  Status (*memory)(Device, Memory*) = nullptr;
  Status (*pci)(Device, PciInfo*) = nullptr;
  Status (*minor)(Device, unsigned*) = nullptr;
  Status (*mig_mode)(Device, unsigned*, unsigned*) = nullptr;
  Status (*mig_max)(Device, unsigned*) = nullptr;
  Status (*mig_handle)(Device, unsigned, Device*) = nullptr;
  Status (*compute)(Device, unsigned*, ComputeProcess*) = nullptr;
  Status (*p2p)(Device, Device, int, int*) = nullptr;
  Status (*ancestor)(Device, Device, int*) = nullptr;
  Status (*index)(Device, unsigned*) = nullptr;
  Status (*ecc_errors)(Device, int, int, unsigned long long*) = nullptr;
  Status (*remapped)(Device, unsigned*, unsigned*, unsigned*, unsigned*) = nullptr;
  Status (*make_events)(void**) = nullptr;
  Status (*register_events)(Device, unsigned long long, void*) = nullptr;
  Status (*wait_event)(void*, DriverEvent*, unsigned) = nullptr;
  Status (*free_events)(void*) = nullptr;
  void* events = nullptr;  // the set that errors of all GPUs come to; nullptr: this driver has none
};

bool Nvml::Functions::find_all() {
  const bool all = find(init, "nvmlInit_v2") && find(shutdown, "nvmlShutdown") &&
                   find(count, "nvmlDeviceGetCount_v2") &&
                   find(handle, "nvmlDeviceGetHandleByIndex_v2") &&
                   find(uuid, "nvmlDeviceGetUUID") && find(name, "nvmlDeviceGetName") &&
                   find(memory, "nvmlDeviceGetMemoryInfo") && find(pci, "nvmlDeviceGetPciInfo_v3");
  find(minor, "nvmlDeviceGetMinorNumber");
  if (!find(compute, "nvmlDeviceGetComputeRunningProcesses_v3"))
    find(compute, "nvmlDeviceGetComputeRunningProcesses_v2");
  find(p2p, "nvmlDeviceGetP2PStatus");
  find(ancestor, "nvmlDeviceGetTopologyCommonAncestor");
  // Drivers from before the first GPU that can be divided lack these.
  if (!find(mig_mode, "nvmlDeviceGetMigMode") || !find(mig_max, "nvmlDeviceGetMaxMigDeviceCount") ||
      !find(mig_handle, "nvmlDeviceGetMigDeviceHandleByIndex"))
    mig_mode = nullptr;
  find(ecc_errors, "nvmlDeviceGetTotalEccErrors");
  find(remapped, "nvmlDeviceGetRemappedRows");
  find(index, "nvmlDeviceGetIndex");
  find(make_events, "nvmlEventSetCreate");
  find(register_events, "nvmlDeviceRegisterEvents");
  find(wait_event, "nvmlEventSetWait_v2");
  find(free_events, "nvmlEventSetFree");
  return all;
}

void Nvml::Functions::listen_for_errors() {
  const bool can = index != nullptr && make_events != nullptr && register_events != nullptr &&
                   wait_event != nullptr && free_events != nullptr;
  if (!can || make_events(&events) != kSuccess) {
    events = nullptr;
    return;
  }
  unsigned size = 0;
  if (count(&size) != kSuccess) return;
  for (unsigned i = 0; i < size; ++i)
    if (Device device = nullptr; handle(i, &device) == kSuccess)
      register_events(device, kXidEvent, events);
}

void Nvml::Functions::look_at_memory(Device device, GpuDevice& into) const {
  unsigned long long errors = 0;
  if (ecc_errors != nullptr && ecc_errors(device, kUncorrected, kSinceDriver, &errors) == kSuccess)
    into.uncorrected_errors = errors;
  unsigned corrected = 0, uncorrected = 0, pending = 0, failed = 0;
  if (remapped == nullptr ||
      remapped(device, &corrected, &uncorrected, &pending, &failed) != kSuccess)
    return;
  into.remap_pending = pending != 0;
  into.remap_failed = failed != 0;
}

bool Nvml::Functions::nvlink_joins(Device a, Device b) const {
  int status = -1;
  return p2p != nullptr && p2p(a, b, kByNvlink, &status) == kSuccess && status == kP2pFine;
}

bool Nvml::Functions::switch_joins(Device a, Device b) const {
  int level = 0;
  return ancestor == nullptr || ancestor(a, b, &level) != kSuccess || level <= kOneSwitchAbove;
}

std::vector<pid_t> Nvml::Functions::processes(Device device) const {
  std::vector<ComputeProcess> found(64);
  auto size = static_cast<unsigned>(found.size());
  Status status = compute == nullptr ? kSuccess + 1 : compute(device, &size, found.data());
  if (status == kInsufficientSize) {
    size = std::min(size + 64, kProcessesMax);
    found.resize(size);
    status = compute(device, &size, found.data());
  }
  if (status != kSuccess) return {};
  std::vector<pid_t> pids;
  for (unsigned i = 0; i < std::min<std::size_t>(size, found.size()); ++i)
    pids.push_back(static_cast<pid_t>(found[i].pid));
  return pids;
}

bool Nvml::Functions::describe(Device device, GpuDevice& into) const {
  std::array<char, kTextMax> text{};
  if (uuid(device, text.data(), text.size()) != kSuccess) return false;
  into.uuid = text.data();
  if (name(device, text.data(), text.size()) == kSuccess) into.model = text.data();
  Memory bytes;
  if (memory(device, &bytes) == kSuccess) into.memory_bytes = bytes.total;
  into.processes = processes(device);
  return true;
}

bool Nvml::Functions::is_divided(Device device) const {
  unsigned current = 0;
  unsigned pending = 0;
  return mig_mode != nullptr && mig_mode(device, &current, &pending) == kSuccess &&
         current == kMigEnabled;
}

void Nvml::Functions::append_slices(Device device, const GpuDevice& whole,
                                    std::vector<GpuDevice>& all) const {
  unsigned max = 0;
  if (mig_max(device, &max) != kSuccess) return;
  for (unsigned i = 0; i < max; ++i) {
    Device slice = nullptr;
    GpuDevice described = whole;
    described.kind = SlotKind::mig;
    if (mig_handle(device, i, &slice) == kSuccess && describe(slice, described))
      all.push_back(std::move(described));
  }
}

// Which of `size` things belong together if these pairs do: for each the first of its group.
template <class Joins>
std::vector<std::size_t> joined(std::size_t size, Joins joins) {
  std::vector<std::size_t> first(size);
  std::iota(first.begin(), first.end(), std::size_t{0});
  for (std::size_t a = 0; a < size; ++a) {
    for (std::size_t b = a + 1; b < size; ++b) {
      if (first[a] == first[b] || !joins(a, b)) continue;
      const auto [keep, drop] = std::minmax({first[a], first[b]});
      std::replace(first.begin(), first.end(), std::size_t{drop}, std::size_t{keep});
    }
  }
  return first;
}

Nvml::Nvml(std::unique_ptr<Functions> functions) : functions_(std::move(functions)) {}

Nvml::~Nvml() = default;

std::unique_ptr<Nvml> Nvml::load() {
  const char* named = std::getenv("PACELINE_NVML");
  return load(named == nullptr ? "libnvidia-ml.so.1" : named);
}

std::unique_ptr<Nvml> Nvml::load(const std::string& library) {
  auto functions = std::make_unique<Functions>();
  functions->library = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (functions->library == nullptr || !functions->find_all() || functions->init() != kSuccess)
    return nullptr;
  functions->initialised = true;
  functions->listen_for_errors();
  return std::unique_ptr<Nvml>(new Nvml(std::move(functions)));
}

std::vector<GpuDevice> Nvml::devices() const {
  unsigned size = 0;
  if (functions_->count(&size) != kSuccess) return {};
  std::vector<GpuDevice> all;
  for (unsigned i = 0; i < size; ++i) {
    Device device = nullptr;
    GpuDevice described;
    if (functions_->handle(i, &device) != kSuccess || !functions_->describe(device, described))
      continue;
    PciInfo where;
    described.whole = i;
    functions_->look_at_memory(device, described);
    if (functions_->pci(device, &where) == kSuccess) described.pci_bus_id = where.bus_id;
    unsigned number = 0;
    if (functions_->minor != nullptr && functions_->minor(device, &number) == kSuccess)
      described.minor = static_cast<std::int32_t>(number);
    if (functions_->is_divided(device))
      functions_->append_slices(device, described, all);
    else
      all.push_back(std::move(described));
  }
  std::stable_sort(all.begin(), all.end(), [](const GpuDevice& a, const GpuDevice& b) {
    return a.pci_bus_id < b.pci_bus_id;
  });
  return all;
}

std::vector<XidError> Nvml::take_xids() const {
  std::vector<XidError> found;
  DriverEvent event;
  for (int i = 0; i < kXidsAtOnce && functions_->events != nullptr; ++i) {
    if (functions_->wait_event(functions_->events, &event, 0) != kSuccess) break;
    unsigned whole = 0;
    if (event.type == kXidEvent && functions_->index(event.device, &whole) == kSuccess)
      found.push_back({whole, event.data});
  }
  return found;
}

std::vector<std::int32_t> Nvml::islands(const std::vector<GpuDevice>& devices) const {
  std::vector<Device> handles(devices.size(), nullptr);
  for (std::size_t i = 0; i < devices.size(); ++i)
    functions_->handle(devices[i].whole, &handles[i]);
  const auto same = [&](std::size_t a, std::size_t b) { return handles[a] == handles[b]; };
  bool nvlink = false;
  auto first = joined(devices.size(), [&](std::size_t a, std::size_t b) {
    const bool linked = !same(a, b) && functions_->nvlink_joins(handles[a], handles[b]);
    nvlink = nvlink || linked;
    return linked || same(a, b);
  });
  if (!nvlink) {
    first = joined(devices.size(), [&](std::size_t a, std::size_t b) {
      return same(a, b) || functions_->switch_joins(handles[a], handles[b]);
    });
  }
  std::vector<std::int32_t> islands(devices.size());
  std::int32_t count = 0;
  for (std::size_t i = 0; i < first.size(); ++i)
    islands[i] = first[i] == i ? count++ : islands[first[i]];
  return islands;
}

}  // namespace paceline::agent
