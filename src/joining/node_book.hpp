// The machines that may become nodes, and those that did, as the server keeps them: invitations, of
// whose join tokens it has the digest alone, and nodes with the newest identity of each. What keeps it is
// told of each change before anybody hears of it.
//
//   auto book = open_node_book(dir / "nodes");          // api/node_book_file.hpp
//   auto made = book->invite({.digest = to_hex(token.digest()), .expires_at = until, .uses_left = 1});
//   auto serial = book->join(digest, {.id = "gpu-3", .machine = machine, .key = sum}, now);
//   auto node = book->known("gpu-3", *serial);   // whenever it connects
//
// A node's identities are numbered; only the newest is taken. A node that was removed is kept for as long as a
// certificate of it may hold, so that no number of its is given twice. Where there are too many, the one that was
// removed longest ago is forgotten, and names that are not known begin beyond its number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "base/time.hpp"
#include "joining/known_node.hpp"

namespace paceline {

struct Invitation {
  std::uint32_t id = 0;      // never given twice
  std::string digest = {};   // of the join token, in hexadecimal
  std::string made_by = {};  // a login name
  WallTime made_at = {};
  WallTime expires_at = {};
  std::uint32_t uses_left = 0;  // so many machines may still join by it
  NodePlace place = {};         // of the nodes that join by it

  friend bool operator==(const Invitation&, const Invitation&) = default;
};

// A machine that asks to become a node.
struct Newcomer {
  std::string id = {};       // the name that the node is to have
  std::string machine = {};  // NodeSpec::machine; empty: it doesn't know
  std::string key = {};      // the fingerprint of its key, in hexadecimal

  friend bool operator==(const Newcomer&, const Newcomer&) = default;
};

// A node that joined.
struct JoinedNode {
  Newcomer as = {};
  std::uint64_t serial = 0;      // of its newest identity
  std::uint32_t invitation = 0;  // by which it joined; 0: that isn't known
  WallTime joined_at = {};
  NodePlace place = {};
  std::optional<WallTime> removed_at = {};
  std::string off_by =
      {};  // of one that was removed: whose word it is that its machine is off; or nobody's
  std::string boot = {};  // KnownNode::boot

  friend bool operator==(const JoinedNode&, const JoinedNode&) = default;
};

class NodeBook {
 public:
  static constexpr std::size_t kInvitationsMax = 1'000;
  static constexpr std::size_t kNodesMax = 10'000;
  static constexpr std::size_t kOffByMax = 256;  // bytes that are kept of JoinedNode::off_by
  // An expired invitation is told of for so long.
  static constexpr Duration kToldExpired = std::chrono::hours{24 * 7};

  // By their ids, also those that were removed.
  using Nodes = std::map<std::string, JoinedNode, std::less<>>;
  // All that is kept. REQUIRES: no two invitations have one digest, and no id is beyond the last.
  struct Pages {
    std::uint32_t last_invitation = 0;
    std::uint64_t last_forgotten = 0;  // the highest number of a node that was forgotten early
    std::map<std::uint32_t, Invitation> invitations = {};
    Nodes nodes = {};
  };
  // Keeps what is to be in place of what was. Errors: storage: then nothing changes.
  using Keep = std::function<Result<void>(const Pages&)>;

  NodeBook(Pages pages, Keep keep);

  // Gives it an id. Errors: conflict: there are too many; storage.
  Result<Invitation> invite(Invitation invitation);
  // Nobody joins by it from now on; nodes that did stay. Errors: not_found; storage.
  Result<Invitation> revoke(std::uint32_t id);
  // The one whose token has that digest; all its uses may be gone. Errors: forbidden: there is none,
  // or it has expired.
  [[nodiscard]] Result<const Invitation*> invitation(std::string_view digest, WallTime now) const;

  // The number of the identity that the newcomer would get. Errors: forbidden: of the invitation,
  // also used up; conflict: the name is a node's, the machine is one, there are too many.
  [[nodiscard]] Result<std::uint64_t> may_join(std::string_view digest, const Newcomer& newcomer,
                                               WallTime now) const;
  // The same, and it is a node from now on. The same newcomer with the same key gets the same
  // number again, and uses nothing up. Errors: also storage: then it isn't one.
  Result<std::uint64_t> join(std::string_view digest, const Newcomer& newcomer, WallTime now);
  // No identity of it is taken any more. `off_by`: whose word it is that its machine is off, which may be said
  // later, too; empty: nobody says so. Errors: not_found; storage.
  Result<JoinedNode> remove(std::string_view id, WallTime now, std::string_view off_by = {});
  // The same of a node that the server has, though it may not be in the book, as that was lost. Errors:
  // not_found: it was removed; conflict: there are too many; storage.
  Result<JoinedNode> remove_known(std::string_view id, WallTime now, std::string_view off_by = {});

  // It was heard from this boot of its machine. Errors: storage.
  Result<void> heard(std::string_view id, std::string_view boot);

  // The node whose identity it is. Errors: forbidden: it never joined, was removed, or has another
  // identity by now.
  [[nodiscard]] Result<KnownNode> known(std::string_view id, std::uint64_t serial) const;

  [[nodiscard]] const std::map<std::uint32_t, Invitation>& invitations() const {
    return pages_.invitations;
  }
  [[nodiscard]] const Nodes& nodes() const { return pages_.nodes; }
  // The id that the next invitation gets.
  [[nodiscard]] std::uint32_t next_invitation() const { return pages_.last_invitation + 1; }

 private:
  // In place of what is there. Errors: storage: then nothing changes.
  Result<void> become(Pages next);
  void index();
  Result<JoinedNode> remove_from(Pages next, std::string_view id, WallTime now,
                                 std::string_view off_by);

  [[nodiscard]] Result<void> may_be_called(const Newcomer& newcomer) const;
  [[nodiscard]] bool repeats(const Invitation& invitation, const Newcomer& newcomer) const;

  Keep keep_;
  Pages pages_;
  std::map<std::string, std::uint32_t, std::less<>> by_digest_;
};

}  // namespace paceline
