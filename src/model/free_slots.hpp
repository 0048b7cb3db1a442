// Which slots are free, kept incrementally, with what-ifs: inside mark()…rewind() every change is
// remembered and taken back.
//
//   free.best_fit(4)        → the node with the fewest free slots that still has 4; lowest id of equals
//   auto m = free.mark(); free.set_free({node, 3}, false); …; free.rewind(m);
//
// Nodes lie on shelves, one for each kind of node, and of that kind for each rack and each switch:
// a search looks only at nodes that can serve.
//
// Cost: O(log nodes) a change, O(kinds · slots of a node + log nodes) a query.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "model/ids.hpp"
#include "model/topology.hpp"

namespace paceline {

// Nodes by how many slots they have free: those with n at n.
class Shelf {
 public:
  [[nodiscard]] const std::vector<std::set<NodeId>>& by_count() const { return by_count_; }
  [[nodiscard]] std::uint64_t total() const { return total_; }  // free slots

  void add(NodeId node, std::uint32_t count);
  void remove(NodeId node, std::uint32_t count);
  void move(NodeId node, std::uint32_t from, std::uint32_t to);

 private:
  std::set<NodeId>& with(std::uint32_t count);

  std::vector<std::set<NodeId>> by_count_;
  std::uint64_t total_ = 0;
};

class FreeSlots {
 public:
  // A node's slots start as not free. Nodes are added in id order, 0, 1, …; adding one again grows
  // it, and takes it to the shelves of its new site.
  void add_node(NodeId node, std::uint32_t slots, const NodeSite& site = {});

  // REQUIRES: the slot exists. Setting what is already so changes nothing.
  void set_free(SlotId slot, bool free);
  // The same of many: slots of one node in a row cost little more than one. Nothing is asked of
  // whole nodes before its end.
  class Changes;

  [[nodiscard]] bool is_free(SlotId slot) const;
  [[nodiscard]] std::uint32_t free_on(NodeId node) const;
  [[nodiscard]] std::uint64_t total() const { return total_; }

  // The first `count` free slots of a node, ascending. REQUIRES: free_on(node) >= count.
  [[nodiscard]] std::vector<std::uint32_t> first_free(NodeId node, std::uint32_t count) const;

  // The node with the fewest free slots that has at least `count` (>= 1); lowest id of equals.
  [[nodiscard]] std::optional<NodeId> best_fit(std::uint32_t count) const;
  // The node with the most free slots, at least `count` (>= 1); lowest id of equals.
  [[nodiscard]] std::optional<NodeId> emptiest(std::uint32_t count) const;
  // The first node with at least `count` (>= 1) free slots at or after `from`, in id order.
  [[nodiscard]] std::optional<NodeId> next_from(NodeId from, std::uint32_t count) const;

  // The nodes of one kind: all of them, or those of one rack or switch; nullptr if there are none.
  [[nodiscard]] const Shelf* shelf(std::uint32_t kind) const;
  [[nodiscard]] const Shelf* rack_shelf(std::uint32_t rack, std::uint32_t kind) const;
  [[nodiscard]] const Shelf* network_shelf(std::uint32_t network, std::uint32_t kind) const;

  using Mark = std::size_t;
  // Starts (or nests) a what-if. Every mark must be rewound before the slots change for good.
  Mark mark();
  void rewind(Mark mark);
  [[nodiscard]] bool what_if() const { return logging_; }
  // Ends the outermost what-if after rewind(0).
  void end_what_if();

 private:
  enum class Area { cluster, rack, network };
  using ShelfKey = std::tuple<Area, std::uint32_t, std::uint32_t>;  // area, its number, kind
  struct NodeSlots {
    std::vector<bool> free;
    std::uint32_t count = 0;
    NodeSite site;
    std::vector<std::uint32_t> shelves;
  };

  std::uint32_t make_shelf(Area area, std::uint32_t number, std::uint32_t kind);
  [[nodiscard]] const Shelf* find(const ShelfKey& key) const;

  std::vector<NodeSlots> nodes_;
  std::vector<Shelf> shelves_;
  std::map<ShelfKey, std::uint32_t> shelf_of_;
  std::vector<std::uint32_t> kinds_;  // shelves that together hold every node
  std::uint64_t total_ = 0;
  bool logging_ = false;
  std::vector<SlotId> log_;  // toggled slots
};

class FreeSlots::Changes {
 public:
  explicit Changes(FreeSlots& free) : free_(free) {}
  ~Changes() { reshelve(); }
  Changes(const Changes&) = delete;
  Changes& operator=(const Changes&) = delete;

  void set(SlotId slot, bool free);

 private:
  friend class FreeSlots;
  void toggle(SlotId slot);
  void reshelve();

  FreeSlots& free_;
  NodeId node_;               // of the last
  std::uint32_t before_ = 0;  // it had so many free on its shelves
  bool any_ = false;
};

}  // namespace paceline
