// The network between the server and one agent: it loses, doubles, delays and so reorders frames,
// breaks connections without telling both ends at once, and opens new ones when both ends are
// there.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <utility>

#include "base/rng.hpp"
#include "faults/event_queue.hpp"
#include "faults/ledger.hpp"
#include "joining/pulse.hpp"
#include "wire/agent_link.hpp"

namespace paceline::faults {

struct LinkHabits {
  double loss = 0;
  double doubling = 0;
  Duration delay_max = std::chrono::milliseconds{1};
  Duration break_told_max{};  // how late an end learns that a connection broke
  bool as_text = false;       // frames travel as JSON, not as values
};

class FaultyLink {
 public:
  // `sessions` is shared by all links of a server.
  FaultyLink(EventQueue& queue, Ledger& ledger, Rng rng, std::uint64_t& sessions);

  void set_habits(const LinkHabits& habits) { habits_ = habits; }

  // An end came up; nullptr: it went down. The other end is told, late.
  void set_server(ServerEnd* server);
  void set_agent(AgentEnd* agent);

  // Opens a connection if both ends are there, none is open, and whoever stands at the door admits it.
  void connect();
  void admit_by(std::function<bool()> admit) { admit_ = std::move(admit); }
  void break_connection();
  // The server has ended it: the agent is told, late.
  void end(Session session);
  // The agent is gone with its machine, and nobody tells the server.
  void vanish();
  // A tick of the agent's pulse: it ends a connection on which nothing comes through any more.
  void beat();
  // Something that the agent says every beat would reach the server on this one.
  [[nodiscard]] bool reaches_server(Session session) const {
    return open_ == session && !cut_.to_server;
  }
  // Is a connection open that frames go through, both ways, and has the server answered on it? Until
  // then it may not have heard who is there.
  [[nodiscard]] bool carries() const {
    return open_.value != 0 && answered_ == open_ && !cut_.to_agent && !cut_.to_server;
  }
  // What goes that way is lost until it is mended; new connections need both ways.
  struct Cut {
    bool to_agent = false, to_server = false;
  };
  void cut(Cut cut) { cut_ = cut; }
  [[nodiscard]] bool is_cut() const { return cut_.to_agent || cut_.to_server; }

  void send(const AgentFrame& frame);
  // Frames of other links' sessions are not carried.
  void send(const ServerFrame& frame);

 private:
  template <class Deliver>
  void carry(bool cut, Time& newest, Deliver deliver);
  template <class Frame, class Decode>
  [[nodiscard]] Frame travelled(const Frame& frame, Decode decode) const;
  void tell_server(Session session);
  void tell_agent(Session session);
  [[nodiscard]] Duration up_to(Duration most);

  EventQueue& queue_;
  Ledger& ledger_;
  Rng rng_;
  std::uint64_t& sessions_;
  LinkHabits habits_;
  std::function<bool()> admit_;
  Pulse pulse_;  // of the agent
  ServerEnd* server_ = nullptr;
  AgentEnd* agent_ = nullptr;
  std::uint64_t server_life_ = 0, agent_life_ = 0;  // what was meant for an earlier one is lost
  Session open_;                                    // 0: none
  Session answered_;                                // of the newest frame that came from the server
  Session agent_knows_;                             // the agent believes that this one is open
  std::set<Session> mine_;                          // every one that was opened here
  Cut cut_;
  Time newest_to_agent_, newest_to_server_;  // when the last frame that was sent arrives
};

inline constexpr FaultyLink::Cut kBothWays{true, true};

}  // namespace paceline::faults
