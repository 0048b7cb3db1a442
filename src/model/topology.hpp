// How near nodes are and what they are made of, as small numbers: device models, racks and switches
// are names that are compared millions of times. Kept by the state as nodes join and change.
//
// A node that names no rack is near no other: it is a rack of its
// own, and without a switch its rack is one of its own.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/affinity.hpp"
#include "model/ids.hpp"
#include "model/node.hpp"

namespace paceline {

// What the slots of a node are, and where it stands.
struct NodeSite {
  std::uint32_t kind = 0;  // nodes of one kind have slots of the same device models, and serve the
                           // same users
  std::optional<std::uint32_t> rack;     // nothing: it names none
  std::optional<std::uint32_t> network;  // the switch above the rack
  bool flat = true;                      // its slots are all equally near each other
  bool choosy = false;                   // is_choosy(): it does not serve everybody
  friend bool operator==(const NodeSite&, const NodeSite&) = default;
};

class Topology {
 public:
  // The node joined, or is another now. Nodes are set in id order first.
  void set(NodeId node, const NodeSpec& spec);

  [[nodiscard]] const NodeSite& site(NodeId node) const { return sites_[node.value]; }
  // Equal for nodes within that reach of each other; every node has one.
  [[nodiscard]] std::uint32_t domain(NodeId node, Reach reach) const;

  [[nodiscard]] std::size_t kinds() const { return kinds_.size(); }
  // The device models of a kind, sorted.
  [[nodiscard]] const std::vector<std::string>& models_of(std::uint32_t kind) const {
    return kinds_[kind].models;
  }
  // NodeSpec::only_user of its nodes.
  [[nodiscard]] const std::string& user_of(std::uint32_t kind) const {
    return kinds_[kind].only_user;
  }
  // Some node is_choosy().
  [[nodiscard]] bool is_choosy() const { return choosy_ > 0; }
  // Every device model there is or was on a node that has not retired, sorted.
  [[nodiscard]] const std::vector<std::string>& models() const { return models_; }
  // The racks and the switches that have been named, in the order of their names.
  using Names = std::map<std::string, std::uint32_t, std::less<>>;
  [[nodiscard]] const Names& racks() const { return racks_; }
  [[nodiscard]] const Names& networks() const { return networks_; }

 private:
  struct Kind {
    std::vector<std::string> models;
    std::string only_user;
    friend bool operator==(const Kind&, const Kind&) = default;
  };

  static std::optional<std::uint32_t> number(Names& names, const std::string& name);
  std::uint32_t kind_of(const NodeSpec& spec);

  std::vector<NodeSite> sites_;
  std::vector<Kind> kinds_;
  std::size_t choosy_ = 0;  // nodes
  std::vector<std::string> models_;
  Names racks_, networks_;
};

}  // namespace paceline
