// How many bytes the connections of a server hold in memory for their clients: requests that arrive
// or are being answered, answers that nobody has read yet. One sum per user and one for all.
//
//   Traffic traffic(256 << 20, 32 << 20);
//   ConnectionLoad load(traffic, uid);
//   if (!traffic.has_room(uid, 4096)) …   // refuse, or make room
//   load.set(4096);                       // given back when `load` is gone
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>

namespace paceline {

class Traffic {
 public:
  Traffic(std::size_t bytes_max, std::size_t bytes_per_user_max)
      : bytes_max_(bytes_max), bytes_per_user_max_(bytes_per_user_max) {}

  // Would `bytes` more stay within the bounds: of all together, and of this user?
  [[nodiscard]] bool has_room(std::size_t bytes) const { return total_ + bytes <= bytes_max_; }
  [[nodiscard]] bool has_room(const std::string& user, std::size_t bytes) const;
  // Would they leave as much as one user may have?
  [[nodiscard]] bool leaves_room(std::size_t bytes) const {
    return has_room(bytes + bytes_per_user_max_);
  }
  [[nodiscard]] std::size_t total() const { return total_; }

 private:
  friend class ConnectionLoad;
  void change(const std::string& user, std::size_t from, std::size_t to);

  std::size_t bytes_max_, bytes_per_user_max_;
  std::size_t total_ = 0;
  std::map<std::string, std::size_t> per_user_;
};

// What one connection holds.
class ConnectionLoad {
 public:
  // REQUIRES: `traffic` outlives it.
  ConnectionLoad(Traffic& traffic, std::string user) : traffic_(traffic), user_(std::move(user)) {}
  ConnectionLoad(const ConnectionLoad&) = delete;
  ConnectionLoad& operator=(const ConnectionLoad&) = delete;
  ~ConnectionLoad() { set(0); }

  // In place of what it held. REQUIRES: the caller has asked whether there is room.
  void set(std::size_t bytes);
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  Traffic& traffic_;
  std::string user_;
  std::size_t bytes_ = 0;
};

}  // namespace paceline
