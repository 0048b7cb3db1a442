// What the server knows of one node and of the claims that its agent holds.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "model/node.hpp"
#include "wire/agent_protocol.hpp"
#include "wire/message_stream.hpp"

namespace paceline {

// A worker that the agent has, or was told to start in this session. The second half is what was
// told in this session.
struct ClaimView {
  std::vector<std::uint32_t> slots;
  bool gone = false;              // nothing of it is left
  bool lends = false;             // its slots to others, while it is frozen
  std::uint64_t last_report = 0;  // told of it; a repeat is not told again
  std::uint64_t last_checkpoint = 0;
  std::uint64_t last_model = 0;
  Generation ready, stands;  // as it said last

  std::optional<bool> frozen;  // nothing: not known
  bool should_stop = false;
  std::optional<Generation> enrolled;  // in a later generation than it was born into
  std::optional<Time> limit_at;
  std::optional<Time> kill_at;
  bool fenced = false;
};

struct NodeView {
  NodeId id;
  NodeSpec spec;                   // as told last
  bool up = false;                 // as told last
  std::optional<Session> session;  // set once its agent said Hello
  Session last_session;            // that ever did
  Session turned_away;             // the last that another machine of its name opened
  bool left = false;       // it is not to come back as it is: it counts as down without a session
  bool off = false;        // it is told that its machine is, and it was not heard since
  bool unsaid = false;     // it is another machine than the journal says: nothing is started there
  Duration clock_ahead{};  // of the agent, when its newest frame came
  Outbox<ServerMessage> outbox;
  Inbox<AgentMessage> inbox;
  std::uint64_t observed = 0;  // messages that observe() has told
  std::uint64_t durable = 0;   // and that are in the journal
  std::optional<Time> down_at,
      lost_at;              // while it has no session: when it counts as down, its workers as lost
  Time leased_until;        // by leases of before its agent said Hello last
  std::optional<Time> due;  // its entry among the engine's timers

  std::map<ProcessKey, ClaimView> claims;
  std::set<ProcessKey> seats;  // workers here that the state wants something of
  std::set<ProcessKey> held;  // of those: not started, because something is left in their slots, or
                              // the machine is unsaid

  [[nodiscard]] ClaimView* find_claim(const ProcessKey& key);
  // True if something of another worker is in one of the slots, and it has not lent them.
  // Cost: O(claims + their slots).
  [[nodiscard]] bool conflicts(const ProcessKey& key,
                               const std::vector<std::uint32_t>& slots) const;
};

}  // namespace paceline
