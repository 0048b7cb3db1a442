// The slots of this machine: its GPUs and MIG slices or, without any, CPU slots. A device that
// another Paceline server or a foreign process uses is shown, but not usable.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/linux/device_lock.hpp"
#include "agent/linux/nvml.hpp"
#include "base/result.hpp"
#include "model/node.hpp"

namespace paceline::agent {

// What a worker needs of the slots it was given.
struct TakenDevices {
  SlotKind kind = SlotKind::cpu;
  std::vector<std::string> uuids;           // empty for CPU slots
  std::vector<std::string> denied_devices;  // the other GPUs, as the devices controller writes them
  std::vector<UniqueFd> locks;              // to be held until the worker is gone
};

class Devices {
 public:
  // `workers_directory` is where this server's claims lie: processes whose marker names it are
  // ours. `cpu_slots`: so many CPU slots and no devices. `pci_directory` says of each device which
  // NUMA domain it is in.
  Devices(std::string workers_directory, std::optional<std::uint32_t> cpu_slots, DeviceLocks locks,
          const std::string& pci_directory = "/sys/bus/pci/devices");

  // Asks anew. Slots in `leased` are our own workers' and stay usable. The number and order of
  // slots never change.
  std::vector<SlotSpec> look(const std::set<std::uint32_t>& leased);
  // Errors: invalid (no such slot), unavailable (another server has it).
  [[nodiscard]] Result<TakenDevices> take(const std::vector<std::uint32_t>& slots) const;

  // True if there is anything that others could take away.
  [[nodiscard]] bool has_devices() const { return !devices_.empty(); }
  [[nodiscard]] bool machine_has_gpus() const;

 private:
  [[nodiscard]] SlotSpec describe(std::uint32_t slot, const GpuDevice& now, bool leased) const;
  [[nodiscard]] std::string foreign_note(const GpuDevice& device) const;

  std::string workers_directory_;
  DeviceLocks locks_;
  std::unique_ptr<Nvml> nvml_;
  std::vector<GpuDevice> devices_;            // as found at the start: a slot is an index into it
  std::vector<std::int32_t> islands_, numa_;  // of each of them
  std::uint32_t cpu_slots_ = 0;
};

// The cores this process may use.
std::uint32_t usable_cores();

}  // namespace paceline::agent
