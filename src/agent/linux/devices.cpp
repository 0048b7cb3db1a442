#include "agent/linux/devices.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>

#include "agent/linux/files.hpp"
#include "agent/linux/memory_files.hpp"
#include "agent/linux/process.hpp"

namespace paceline::agent {
namespace {

constexpr std::size_t kCommandMax = 60;
constexpr std::string_view kMarker = "PACELINE_WORKER=";

std::optional<std::uint32_t> uid_of(const std::string& process) {
  struct stat info {};
  if (::stat(process.c_str(), &info) != 0) return std::nullopt;
  return info.st_uid;
}

// From the words of /proc/PID/cmdline.
std::string command_of(std::string text) {
  while (!text.empty() && text.back() == '\0') text.pop_back();
  std::replace(text.begin(), text.end(), '\0', ' ');
  if (text.size() > kCommandMax) text = text.substr(0, kCommandMax) + "…";
  return text;
}

// True if a process with that environment belongs to a worker whose claim lies in `directory`.
bool is_worker_of(std::string_view environ, const std::string& directory) {
  std::size_t at =
      environ.starts_with(kMarker) ? 0 : environ.find(std::string(1, '\0').append(kMarker));
  if (at == std::string_view::npos) return false;
  const std::string_view entry = environ.substr(at == 0 ? 0 : at + 1);
  return entry.substr(0, entry.find('\0')).find("@" + directory + "/") != std::string_view::npos;
}

// 0 where nothing is known: most machines have one domain. NVML writes a domain of eight digits in
// front of the bus, the kernel one of four.
std::int32_t numa_of(const std::string& pci_directory, const std::string& bus_id) {
  constexpr std::size_t kKernelLength = 12;  // of 0000:17:00.0
  std::string name = bus_id.substr(bus_id.size() - std::min(bus_id.size(), kKernelLength));
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
  const auto text = read_file(fmt::format("{}/{}/numa_node", pci_directory, name), 64);
  return text ? std::max(0, std::atoi(text->c_str())) : 0;
}

// A number is the driver's; a UUID may be shortened.
bool is_lent(const GpuDevice& device, std::string_view lent) {
  while (!lent.empty()) {
    const auto item = lent.substr(0, lent.find(','));
    lent.remove_prefix(std::min(lent.size(), item.size() + 1));
    if (item.empty()) continue;
    if (item == std::to_string(device.whole) || device.uuid.starts_with(item)) return true;
  }
  return false;
}

SlotSpec cpu_slot() {
  SlotSpec slot;
  slot.model = "cpu";
  return slot;
}

}  // namespace

std::uint32_t usable_cores() {
  cpu_set_t allowed;
  const bool known = ::sched_getaffinity(0, sizeof allowed, &allowed) == 0;
  return known ? static_cast<std::uint32_t>(CPU_COUNT(&allowed)) : 1;
}

Devices::Devices(std::string workers_directory, std::optional<std::uint32_t> cpu_slots,
                 DeviceLocks locks, const std::string& pci_directory,
                 const std::optional<std::string>& lent_gpus, std::string proc)
    : workers_directory_(std::move(workers_directory)),
      locks_(std::move(locks)),
      proc_(std::move(proc)) {
  if (!cpu_slots || lent_gpus) nvml_ = Nvml::load();
  if (nvml_) devices_ = nvml_->devices();
  if (lent_gpus)
    std::erase_if(devices_, [&](const GpuDevice& device) { return !is_lent(device, *lent_gpus); });
  if (!devices_.empty()) islands_ = nvml_->islands(devices_);
  for (const GpuDevice& device : devices_)
    numa_.push_back(numa_of(pci_directory, device.pci_bus_id));
  if (devices_.empty()) cpu_slots_ = cpu_slots.value_or(usable_cores());
}

bool Devices::machine_has_gpus() const {
  return !devices_.empty() || ::access("/dev/nvidiactl", F_OK) == 0;
}

// Each process is asked once: one that doesn't answer is somebody's who uses the device.
Devices::Holder& Devices::holder(pid_t pid) {
  const std::string place = fmt::format("{}/{}", proc_, pid);
  const auto stat = parse_stat(read_file(place + "/stat").value_or(""));
  const std::uint64_t start_time = stat ? stat->start_time : 0;
  const auto known = holders_.find(pid);
  if (known != holders_.end() && known->second.start_time == start_time) return known->second;
  Holder& holder = holders_[pid];
  holder = {start_time, false, uid_of(place), {}, {}};
  const auto take = [&](std::size_t i, const MemoryFile& file) {
    if (i == 0)
      holder.is_worker = is_worker_of(file.text, workers_directory_);
    else
      holder.command = file.error == ETIMEDOUT ? "(it doesn't answer)" : command_of(file.text);
  };
  if (stat) static_cast<void>(read_memory_files({place + "/environ", place + "/cmdline"}, take));
  return holder;
}

std::string Devices::user_of(Holder& holder) {
  if (!holder.uid) return "unknown user";
  if (!holder.user) holder.user = names_.of(*holder.uid);
  return holder.user.value_or(fmt::format("user {}", *holder.uid));
}

std::string Devices::foreign_note(const GpuDevice& device) {
  if (const auto other = locks_.holder(device.uuid))
    return fmt::format("in use by another Paceline server ({})", *other);
  for (const pid_t pid : device.processes)
    if (Holder& found = holder(pid); !found.is_worker)
      return fmt::format("in use by process {} of {}: {}", pid, user_of(found), found.command);
  return {};
}

void Devices::forget_holders(const std::vector<GpuDevice>& now) {
  std::erase_if(holders_, [&](const auto& each) {
    return std::ranges::none_of(now, [&](const GpuDevice& device) {
      return std::ranges::find(device.processes, each.first) != device.processes.end();
    });
  });
}

SlotSpec Devices::describe(std::uint32_t slot, const GpuDevice& now, bool leased) {
  SlotSpec spec{now.kind, now.model, now.uuid, now.memory_bytes, true, {}};
  spec.island = islands_[slot];
  spec.numa = numa_[slot];
  spec.note = faults_.note(now);
  if (spec.note.empty() && !leased) spec.note = foreign_note(now);
  spec.usable = spec.note.empty();
  return spec;
}

std::vector<SlotSpec> Devices::look(const std::set<std::uint32_t>& leased) {
  if (devices_.empty()) return std::vector<SlotSpec>(cpu_slots_, cpu_slot());
  const std::vector<GpuDevice> now = nvml_->devices();
  faults_.take(now, nvml_->take_xids());
  forget_holders(now);
  std::vector<SlotSpec> slots;
  for (std::uint32_t i = 0; i < devices_.size(); ++i) {
    const auto same = std::find_if(now.begin(), now.end(), [&](const GpuDevice& device) {
      return device.uuid == devices_[i].uuid;
    });
    const bool answers = same != now.end();
    slots.push_back(describe(i, answers ? *same : devices_[i], leased.contains(i)));
    if (answers) continue;
    slots.back().usable = false;
    slots.back().note = "the driver no longer answers for it";
  }
  return slots;
}

Result<void> Devices::check(const std::vector<std::uint32_t>& slots) const {
  const std::size_t count = devices_.empty() ? cpu_slots_ : devices_.size();
  for (const std::uint32_t slot : slots)
    if (slot >= count)
      return fail(ErrorCode::unavailable,
                  fmt::format("This node has {} slots, but no slot {}.", count, slot), {},
                  Retry::may_help);
  return {};
}

Result<TakenDevices> Devices::take(const std::vector<std::uint32_t>& slots,
                                   const std::vector<std::uint32_t>& local_slots) const {
  if (auto there = check(slots); !there) return fail(there.error());
  if (auto there = check(local_slots); !there) return fail(there.error());
  TakenDevices taken;
  if (devices_.empty()) return taken;
  for (const std::uint32_t slot : slots) {
    auto locks = locks_.take(devices_[slot].uuid);
    if (!locks) return fail(locks.error());
    for (UniqueFd& lock : *locks) taken.locks.push_back(std::move(lock));
    taken.kind = devices_[slot].kind;
    taken.uuids.push_back(devices_[slot].uuid);
  }
  const auto is_gpu = [&](std::uint32_t slot) { return devices_[slot].kind == SlotKind::gpu; };
  const bool shows_all = slots.size() == 1 &&
                         std::ranges::find(local_slots, slots[0]) != local_slots.end() &&
                         std::ranges::all_of(local_slots, is_gpu);
  for (const std::uint32_t slot : shows_all ? local_slots : slots)
    taken.visible.push_back(devices_[slot].uuid);
  std::set<std::uint32_t> allowed(slots.begin(), slots.end());
  allowed.insert(local_slots.begin(), local_slots.end());
  for (std::uint32_t i = 0; i < devices_.size(); ++i)
    if (is_gpu(i) && devices_[i].minor >= 0 && !allowed.contains(i))
      taken.denied_devices.push_back(fmt::format("c 195:{} rwm", devices_[i].minor));
  return taken;
}

}  // namespace paceline::agent
