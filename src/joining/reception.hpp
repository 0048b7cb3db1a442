// What a server answers to a machine that wants to be a node, and to the word that one is a node no more.
// The order of its steps is what matters: a certificate is made before anything is used up and told of once
// the node is in the book; a node that is removed is not taken any more before its connections end.
//
//   const Reception reception({.book = book, .own_nodes = {"box"}, .cut = cut, .count_off = count_off});
//   reception.recall([&](std::string_view node) { controller.node_left(node); });  // once, first of all
//   auto serial = reception.join({.digest = digest, .as = newcomer, .now = now}, state, issue);
//   auto gone = reception.remove({.node = "gpu-3", .by = "root", .is_off = true, .now = now}, state);
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "joining/node_book.hpp"
#include "model/state.hpp"

namespace paceline {

class Reception {
 public:
  struct Ways {
    NodeBook& book;
    std::vector<std::string> own_nodes = {};  // the server's own: no other machine is called so
    // All connections of the node end now. Empty: there are none.
    std::function<void(std::string_view node)> cut = {};
    // Takes the word of `by` that a node's machine is off: its workers have ended. Errors: conflict: it is
    // heard. Empty: nothing counts them.
    std::function<Result<void>(std::string_view node, std::string_view by)> count_off = {};
  };
  explicit Reception(Ways ways) : ways_(std::move(ways)) {}

  struct Joining {
    std::string digest;  // of the join token, in hexadecimal
    Newcomer as;
    WallTime now{};
  };
  // Makes the certificate of the identity with this number.
  using Issue = std::function<Result<void>(std::uint64_t serial)>;
  // The number of the identity by which it is a node from now on. Errors: those of NodeBook::join() and of
  // `issue`; conflict: the name is the server's own machine's; unavailable: `state` doesn't know yet that
  // what ran there ended as its machine was said to be off. Then nothing is used up.
  Result<std::uint64_t> join(const Joining& joining, const State& state, const Issue& issue) const;

  struct Removal {
    std::string node;
    std::string by;       // who says it, for everybody
    bool is_off = false;  // its machine is off: what ran there has ended
    WallTime now{};
  };
  // What a server that starts anew does first, as the one before may have died before what it was told was in the
  // journal: left(node) for each that was removed, and those of machines that are off are counted as off.
  void recall(const std::function<void(std::string_view node)>& left) const;

  // It is not heard from now on. Said again with `is_off` of a node that was removed, its workers count as
  // ended. One that is down need not be in the book: a server made of a backup has the state alone. Errors:
  // conflict: it is the server's own machine, or is up and said to be off; not_found; storage.
  Result<JoinedNode> remove(const Removal& removal, const State& state) const;

 private:
  [[nodiscard]] bool is_own(std::string_view node) const;

  Ways ways_;
};

}  // namespace paceline
