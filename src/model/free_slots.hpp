// Which slots are free, kept incrementally, with what-ifs: inside mark()…rewind() every change is
// remembered and taken back.
//
//   free.best_fit(4)        → the node with the fewest free slots that still has 4; lowest id of equals
//   auto m = free.mark(); free.take({node, 3}); …; free.rewind(m);
//
// Cost: O(log nodes) a change, O(distinct free counts · log nodes) a query.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "model/ids.hpp"

namespace paceline {

class FreeSlots {
 public:
  // A node's slots start as not free. Nodes are added in id order, 0, 1, …; adding one again grows
  // it.
  void add_node(NodeId node, std::uint32_t slots);

  // REQUIRES: the slot exists. Setting what is already so changes nothing.
  void set_free(SlotId slot, bool free);

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

  using Mark = std::size_t;
  // Starts (or nests) a what-if. Every mark must be rewound before the slots change for good.
  Mark mark();
  void rewind(Mark mark);
  [[nodiscard]] bool what_if() const { return logging_; }
  // Ends the outermost what-if after rewind(0).
  void end_what_if();

 private:
  struct NodeSlots {
    std::vector<bool> free;
    std::uint32_t count = 0;
  };

  void change(SlotId slot, bool free);

  std::vector<NodeSlots> nodes_;
  std::map<std::uint32_t, std::set<NodeId>> by_count_;  // nodes with at least one free slot
  std::uint64_t total_ = 0;
  bool logging_ = false;
  std::vector<SlotId> log_;  // toggled slots
};

}  // namespace paceline
