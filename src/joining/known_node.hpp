// A node as a server knows it that lets machines join: by the identity that it shows, and standing where
// its invitation said.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "model/node.hpp"

namespace paceline {

// Where a node stands and what it is called by, as its invitation said; what is empty, the node says
// itself.
struct NodePlace {
  std::string rack = {}, network_switch = {};
  std::map<std::string, std::string> labels = {};
  friend bool operator==(const NodePlace&, const NodePlace&) = default;
};

// A node whose identity is taken: it joined, was not removed, and this is its newest.
struct KnownNode {
  std::string id = {};
  std::uint64_t serial = 0;
  NodePlace place = {};
  std::string boot = {};  // of its machine, from which it was heard last; empty: it never was
};

// The node's own word counts where the invitation says nothing.
void put_in_place(NodeSpec& spec, const NodePlace& place);

}  // namespace paceline
