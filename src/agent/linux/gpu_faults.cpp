#include "agent/linux/gpu_faults.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace paceline::agent {
namespace {

// What a program did wrong, or what the memory's own numbers tell better (63, 92, 94: errors that were
// contained). All others are the GPU's.
constexpr std::uint64_t kPassedOver[] = {13, 31, 43, 45, 63, 68, 92, 94, 109};

struct XidMeaning {
  std::uint64_t xid;
  std::string_view text;
};
// Of NVIDIA's list of Xid errors, those that machines with many GPUs meet.
constexpr XidMeaning kMeanings[] = {
    {48, "an uncorrectable memory error"},
    {61, "its microcontroller broke down"},
    {62, "its microcontroller halted"},
    {64, "rows of its memory could not be remapped"},
    {74, "an error of NVLink"},
    {79, "it has fallen off the bus"},
    {95, "an uncontained memory error"},
    {119, "its system processor doesn't answer"},
    {120, "its system processor failed"},
    {140, "an unrecovered memory error"},
};

std::string xid_text(std::uint64_t xid) {
  const auto* const found = std::ranges::find(kMeanings, xid, &XidMeaning::xid);
  return found == std::end(kMeanings) ? fmt::format("Xid {}", xid)
                                      : fmt::format("Xid {}, {}", xid, found->text);
}

}  // namespace

void GpuFaults::take(const std::vector<GpuDevice>& devices, const std::vector<XidError>& errors) {
  for (const XidError& error : errors)
    if (std::ranges::find(kPassedOver, error.xid) == std::end(kPassedOver))
      xids_.try_emplace(error.whole, error.xid);
  for (const GpuDevice& device : devices) {
    const auto first = errors_at_first_.try_emplace(device.whole, device.uncorrected_errors).first;
    first->second = std::min(first->second, device.uncorrected_errors);  // it was reset
  }
}

std::string GpuFaults::note(const GpuDevice& device) const {
  if (const auto xid = xids_.find(device.whole); xid != xids_.end())
    return "faulty: " + xid_text(xid->second);
  if (device.remap_failed) return "faulty: rows of its memory could not be remapped";
  if (device.remap_pending) return "faulty: rows of its memory wait to be remapped; reset it";
  const auto first = errors_at_first_.find(device.whole);
  const std::uint64_t more =
      first == errors_at_first_.end() ? 0 : device.uncorrected_errors - first->second;
  if (more == 0) return {};
  return fmt::format("faulty: {} uncorrectable memory error{}", more, more == 1 ? "" : "s");
}

}  // namespace paceline::agent
