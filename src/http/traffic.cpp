#include "http/traffic.hpp"

namespace paceline {

bool Traffic::has_room(const std::string& user, std::size_t bytes) const {
  const auto held = per_user_.find(user);
  const auto mine = held == per_user_.end() ? 0 : held->second;
  return mine + bytes <= bytes_per_user_max_ && has_room(bytes);
}

void Traffic::change(const std::string& user, std::size_t from, std::size_t to) {
  total_ += to - from;
  auto& mine = per_user_[user];
  mine += to - from;
  if (mine == 0) per_user_.erase(user);
}

void ConnectionLoad::set(std::size_t bytes) {
  if (bytes == bytes_) return;
  traffic_.change(user_, bytes_, bytes);
  bytes_ = bytes;
}

}  // namespace paceline
