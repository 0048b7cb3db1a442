// What NVIDIA's management library says of the GPUs. The library comes with the driver, so it is
// loaded when the program runs, by declarations of our own: Paceline needs neither CUDA nor the
// driver to be built or to run.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "model/node.hpp"

namespace paceline::agent {

// One GPU, or one MIG slice of a GPU that is divided.
struct GpuDevice {
  SlotKind kind = SlotKind::gpu;
  std::string uuid;
  std::string model;
  std::string pci_bus_id;
  std::uint64_t memory_bytes = 0;
  std::int32_t minor = -1;       // of /dev/nvidiaN; -1: unknown
  std::uint32_t whole = 0;       // the GPU that it is or is a slice of, by the driver's numbers
  std::vector<pid_t> processes;  // that compute on it
  // Of the whole GPU's memory, as far as its driver can tell.
  std::uint64_t uncorrected_errors = 0;  // since the driver was loaded or the GPU reset
  bool remap_pending = false;            // bad rows are taken out of use at the next reset
  bool remap_failed = false;             // bad rows could not be
};

// An error that the driver wrote to the kernel's log.
struct XidError {
  std::uint32_t whole = 0;  // the GPU, by the driver's numbers
  std::uint64_t xid = 0;
};

class Nvml {
 public:
  // The driver's library, or the one that $PACELINE_NVML names. Nothing if there is none or it does
  // not work.
  static std::unique_ptr<Nvml> load();
  static std::unique_ptr<Nvml> load(const std::string& library);
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  // In the order of their PCI bus ids, slices in the driver's order. A device that doesn't answer
  // is left out.
  [[nodiscard]] std::vector<GpuDevice> devices() const;

  // What the driver reported since the last call, or since it was loaded.
  [[nodiscard]] std::vector<XidError> take_xids() const;

  // The link islands of devices(), in their order, numbered from 0 as they come: GPUs that NVLink
  // joins, directly or through others; without any NVLink those under one PCIe switch. Slices of a
  // GPU share its island. What an old driver can't tell is taken for joined.
  [[nodiscard]] std::vector<std::int32_t> islands(const std::vector<GpuDevice>& devices) const;

 private:
  struct Functions;
  explicit Nvml(std::unique_ptr<Functions> functions);
  std::unique_ptr<Functions> functions_;
};

}  // namespace paceline::agent
