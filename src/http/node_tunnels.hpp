// How many tunnels of nodes a server carries. They stay for as long as a node is up, so they are
// counted apart from the connections of people, and each node has a bound of its own.
//
//   NodeTunnels tunnels(80);
//   if (!tunnels.has_room("gpu-3")) …   // refuse
//   NodeTunnel tunnel(tunnels, "gpu-3");   // counted for as long as `tunnel` is there
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace paceline {

class NodeTunnels {
 public:
  explicit NodeTunnels(std::size_t per_node_max) : per_node_max_(per_node_max) {}

  [[nodiscard]] bool has_room(std::string_view node) const {
    const auto mine = per_node_.find(node);
    return mine == per_node_.end() ? per_node_max_ > 0 : mine->second < per_node_max_;
  }
  [[nodiscard]] std::size_t total() const { return total_; }

 private:
  friend class NodeTunnel;

  std::size_t per_node_max_;
  std::size_t total_ = 0;
  std::map<std::string, std::size_t, std::less<>> per_node_;
};

// One of them.
class NodeTunnel {
 public:
  // REQUIRES: `tunnels` outlives it; there is room.
  NodeTunnel(NodeTunnels& tunnels, std::string node) : tunnels_(tunnels), node_(std::move(node)) {
    ++tunnels_.total_;
    ++tunnels_.per_node_[node_];
  }
  NodeTunnel(const NodeTunnel&) = delete;
  NodeTunnel& operator=(const NodeTunnel&) = delete;
  ~NodeTunnel() {
    --tunnels_.total_;
    const auto mine = tunnels_.per_node_.find(node_);
    if (--mine->second == 0) tunnels_.per_node_.erase(mine);
  }

 private:
  NodeTunnels& tunnels_;
  std::string node_;
};

}  // namespace paceline
