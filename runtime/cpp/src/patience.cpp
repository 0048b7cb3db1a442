#include "patience.hpp"

#include <algorithm>

namespace paceline::runtime {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kSlice{100};

}  // namespace

// A slice that took much longer than it may was not waited through: the process was stopped.
bool Patience::wait(std::span<pollfd> descriptors,
                    std::optional<std::chrono::milliseconds> at_most) {
  const auto slice = std::min(at_most.value_or(kSlice), kSlice);
  for (;;) {
    const auto begin = Clock::now();
    const int ready =
        ::poll(descriptors.data(), descriptors.size(), static_cast<int>(slice.count()));
    waited_ += std::min<std::chrono::nanoseconds>(Clock::now() - begin, 2 * slice);
    if (limit_.count() > 0 && waited_ >= limit_) return false;
    if (ready > 0 || at_most) return true;
  }
}

}  // namespace paceline::runtime
