#include "api/traffic.hpp"

namespace paceline {

bool Traffic::has_room(std::uint32_t uid, std::size_t bytes) const {
  const auto held = per_user_.find(uid);
  const auto mine = held == per_user_.end() ? 0 : held->second;
  return mine + bytes <= bytes_per_user_max_ && has_room(bytes);
}

void Traffic::change(std::uint32_t uid, std::size_t from, std::size_t to) {
  total_ += to - from;
  auto& mine = per_user_[uid];
  mine += to - from;
  if (mine == 0) per_user_.erase(uid);
}

void Load::set(std::size_t bytes) {
  if (bytes == bytes_) return;
  traffic_.change(uid_, bytes_, bytes);
  bytes_ = bytes;
}

}  // namespace paceline
