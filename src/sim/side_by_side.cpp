#include "sim/side_by_side.hpp"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace paceline::sim {

void side_by_side(std::size_t count, unsigned threads,
                  const std::function<bool(std::size_t)>& work) {
  if (threads == 0) threads = std::thread::hardware_concurrency();
  std::atomic<std::size_t> next = 0;
  std::atomic<bool> stop = false;
  const auto take_turns = [&] {
    for (std::size_t i = next++; i < count && !stop; i = next++) {
      if (!work(i)) stop = true;
    }
  };
  std::vector<std::jthread> others;
  for (std::size_t i = 1; i < std::min<std::size_t>(threads, count); ++i)
    others.emplace_back(take_turns);
  take_turns();
}

}  // namespace paceline::sim
