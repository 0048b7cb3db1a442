// Which GPUs are not to be trusted with work, by what their driver says of them. A fault stays until the
// GPU was reset, as far as that can be seen, or the agent starts anew.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agent/linux/nvml.hpp"

namespace paceline::agent {

class GpuFaults {
 public:
  void take(const std::vector<GpuDevice>& devices, const std::vector<XidError>& errors);
  // Why a device, or the GPU that it is a slice of, is out of order: "faulty: …"; empty: it isn't.
  [[nodiscard]] std::string note(const GpuDevice& device) const;

 private:
  std::map<std::uint32_t, std::uint64_t> errors_at_first_;  // uncorrected, by GPU
  std::map<std::uint32_t, std::uint64_t> xids_;             // the first that counts, by GPU
};

}  // namespace paceline::agent
