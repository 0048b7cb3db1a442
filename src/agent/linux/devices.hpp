// The slots of this machine: its GPUs and MIG slices or, without any, CPU slots. A device that
// another Paceline server or a foreign process uses, or that is out of order, is shown, but not usable.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "agent/linux/device_lock.hpp"
#include "agent/linux/gpu_faults.hpp"
#include "agent/linux/nvml.hpp"
#include "agent/linux/user_names.hpp"
#include "base/result.hpp"
#include "model/node.hpp"

namespace paceline::agent {

// What a worker needs of the slots it was given.
struct TakenDevices {
  SlotKind kind = SlotKind::cpu;
  std::vector<std::string> uuids;           // empty for CPU slots
  std::vector<std::string> visible;         // what it is shown, see Devices::take()
  std::vector<std::string> denied_devices;  // the other GPUs, as the devices controller writes them
  std::vector<UniqueFd> locks;              // to be held until the worker is gone
};

inline constexpr std::string_view kPciDirectory = "/sys/bus/pci/devices";

class Devices {
 public:
  // `workers_directory` is where this server's claims lie: processes whose marker names it are
  // ours. `cpu_slots`: so many CPU slots and no devices. `pci_directory` says of each device which
  // NUMA domain it is in. `lent_gpus`, as CUDA_VISIBLE_DEVICES says it: these devices and no others, and
  // the CPU slots only where the driver knows none of them. `proc` shows the processes.
  Devices(std::string workers_directory, std::optional<std::uint32_t> cpu_slots, DeviceLocks locks,
          const std::string& pci_directory = std::string(kPciDirectory),
          const std::optional<std::string>& lent_gpus = {}, std::string proc = "/proc");

  // Asks anew. Slots in `leased` are our own workers' and stay usable, unless they are out of order.
  // The number and order of slots never change.
  std::vector<SlotSpec> look(const std::set<std::uint32_t>& leased);
  // Takes a worker's `slots`. `local_slots` are those of all of its gang's workers here, by local
  // rank: none of them is denied to it, since GPUs copy to each other only where both can be opened.
  // Where every worker has one GPU it is shown all of them, so that its own is number LOCAL_RANK;
  // otherwise, and where one is a MIG slice (CUDA opens one at most), its own alone.
  // Errors: unavailable (no such slot, another server has it).
  [[nodiscard]] Result<TakenDevices> take(const std::vector<std::uint32_t>& slots,
                                          const std::vector<std::uint32_t>& local_slots) const;

  // True if there is anything that others could take away.
  [[nodiscard]] bool has_devices() const { return !devices_.empty(); }
  [[nodiscard]] bool machine_has_gpus() const;

 private:
  [[nodiscard]] Result<void> check(const std::vector<std::uint32_t>& slots) const;
  [[nodiscard]] SlotSpec describe(std::uint32_t slot, const GpuDevice& now, bool leased);
  // A process that computes on a device.
  struct Holder {
    std::uint64_t start_time = 0;
    bool is_worker = false;            // of this server
    std::optional<std::uint32_t> uid;  // nothing: it can't be seen
    std::optional<std::string> user;   // nothing: not known yet
    std::string command;
  };
  Holder& holder(pid_t pid);
  std::string user_of(Holder& holder);
  [[nodiscard]] std::string foreign_note(const GpuDevice& device);
  void forget_holders(const std::vector<GpuDevice>& now);

  std::string workers_directory_;
  DeviceLocks locks_;
  std::string proc_;
  std::map<pid_t, Holder> holders_;
  UserNames names_;
  std::unique_ptr<Nvml> nvml_;
  std::vector<GpuDevice> devices_;            // as found at the start: a slot is an index into it
  std::vector<std::int32_t> islands_, numa_;  // of each of them
  std::uint32_t cpu_slots_ = 0;
  GpuFaults faults_;
};

// The cores this process may use.
std::uint32_t usable_cores();

}  // namespace paceline::agent
