// Which connection speaks for which node. Whoever carries the connections says what comes over them and
// does what it is told; nothing is sent or closed here.
//
//   NodeSessions sessions(clock.now());
//   if (auto other = sessions.dialled(session, node, "0.1.0", now)) end(*other);
//   auto greeted = sessions.greet(session, hello, now);     // a Hello came
//   if (!greeted) return refuse(session, greeted.error());
//   if (greeted->ends) end(*greeted->ends);                 // and from now on this one is the node
//
// A node has one connection that said Hello, and beside it at most one that did not yet. A second one that
// says Hello from the same boot of the machine is the same machine, which has dialled anew: the first one
// ends. From another boot it may be a copy of the machine that shows the same identity: it is refused, and
// the first goes on. It is refused, too, for a while after the first was heard last: a connection that broke,
// or a server that was started anew, must not make a copy the node while the first dials again and its workers
// run. A machine that was itself started anew waits as long, and is heard then.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "joining/known_node.hpp"
#include "wire/agent_protocol.hpp"

namespace paceline {

// So long after a node was heard from one boot of its machine, it is not heard from another. An agent that is
// there has dialled again by then (link/backoff.hpp).
inline constexpr Duration kOtherBootAfter = std::chrono::seconds{60};

class NodeSessions {
 public:
  // Keeps from which boot of its machine a node is heard, over a restart of the server.
  using KeepBoot = std::function<Result<void>(const std::string& node, const std::string& boot)>;
  // `now`: of the server's start; who was heard last before it may dial from then on. Empty `keep`: nothing does.
  explicit NodeSessions(Time now, KeepBoot keep = {}) : began_(now), keep_(std::move(keep)) {}

  // What is known of a node that dialled since this began, and was not cut off since.
  struct Entry {
    std::optional<Session> greeted, silent;  // its connection, and one that has not said Hello
    Time last_heard{};
    std::string version;  // of its program
  };

  // A connection of this node is there. The one before that has not said Hello ends.
  std::optional<Session> dialled(Session session, KnownNode node, std::string_view version,
                                 Time now);

  struct Greeted {
    bool fresh = false;           // it was not told before
    std::optional<Session> ends;  // the connection before
  };
  // It said Hello; where it stands is put right. Errors: conflict: another name, or two machines show one
  // identity, or may, so soon after the other one was heard; data; unavailable: its boot can't be kept, by which a
  // copy of it would be known. REQUIRES: it dialled.
  Result<Greeted> greet(Session session, Hello& hello, Time now);
  // What comes before a Hello says nothing. REQUIRES: it dialled.
  [[nodiscard]] bool has_greeted(Session session) const;
  // REQUIRES: it dialled.
  [[nodiscard]] const KnownNode& node_of(Session session) const;
  [[nodiscard]] bool is_there(Session session) const { return sessions_.contains(session); }

  // Something came over it. REQUIRES: it dialled.
  void heard(Session session, Time now);
  // It is over, however it ended. REQUIRES: it dialled.
  void over(Session session);

  // Those of a node that is cut off; once they are over it is forgotten, but for its boot.
  [[nodiscard]] std::vector<Session> of(std::string_view node) const;
  void forget(std::string_view node);

  // nullptr: it has not dialled, or was forgotten.
  [[nodiscard]] const Entry* find(std::string_view node) const;

 private:
  struct Dialled {
    KnownNode node;
    std::string boot_id = {};  // empty: it has not said Hello
    std::string address = {};
  };

  // From which a node was heard, and when last.
  struct Boot {
    std::string id;
    Time heard{};
  };

  [[nodiscard]] Result<void> check_machine(Session session, const Hello& hello) const;
  [[nodiscard]] Result<void> keep_boot(const std::string& node, const std::string& boot) const;
  [[nodiscard]] Result<void> check_boot(const Dialled& mine, const Hello& hello, Time now) const;

  Time began_;
  KeepBoot keep_;
  std::map<Session, Dialled> sessions_;
  std::map<std::string, Entry, std::less<>> nodes_;
  std::map<std::string, Boot, std::less<>> boots_;
};

}  // namespace paceline
