// The sessions of a server with all agents: this machine's own, which runs in the same process, and
// those that dial in. It numbers them, carries the frames of ServerEnd to the agent that each is for,
// and what agents say to ServerEnd.
//
//   AgentSessions sessions(io, clock, engine, {.version = "0.1.0"});
//   sessions.on_wake([&] { pump.wake(); });    // the pump calls sessions.pump()
//   sessions.open(agent);                      // this machine's
//   exchange->tunnel("paceline-link", *sessions.words(node, version));   // another one
//
// Over the network a session is a connection. The server says first which session it is
// (link_words.hpp); then frames go both ways, one a line, with an empty line at every beat (pulse.hpp).
//
// Who an agent is, its certificate says: a Hello by another name ends the session. Where its machine
// stands and what it is called by, the invitation says; where that says nothing, the machine does.
//
// Which of a node's connections is heard, NodeSessions decides (joining/node_sessions.hpp).
#pragma once

#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "clock/clock.hpp"
#include "joining/node_sessions.hpp"
#include "joining/pulse.hpp"
#include "link/agent_door.hpp"
#include "link/bytes_door.hpp"
#include "link/line_queue.hpp"
#include "link/line_stream.hpp"
#include "loop/timer.hpp"
#include "wire/agent_link.hpp"

namespace paceline {

class AgentSessions final : public AgentDoor {
 public:
  struct Options {
    std::string version;  // of the server's program
    PulseTimes pulse = {};
    // Of frames that wait for one agent; over it, its connection ends.
    std::size_t queue_bytes_max = kLineQueueBytesMax;
    NodeSessions::KeepBoot keep_boot = {};
    // What takes connections for bytes; it outlives the sessions. Empty: nothing does.
    std::function<BytesDoor&()> bytes = {};
  };

  // REQUIRES: all three outlive it; one thread runs `io` and calls everything.
  AgentSessions(boost::asio::io_context& io, Clock& clock, ServerEnd& server, Options options);
  AgentSessions(const AgentSessions&) = delete;
  AgentSessions& operator=(const AgentSessions&) = delete;
  // Connections end at once.
  ~AgentSessions() override;

  // Called whenever there is something for pump() or for the server's step().
  void on_wake(std::function<void()> wake) { wake_ = std::move(wake); }
  // Delivers what waits between the server and this machine's agent, and ends connections whose
  // agents are too far behind.
  void pump();

  // This machine's own agent. REQUIRES: called once; it outlives the sessions.
  void open(AgentEnd& own);

  // ---- AgentDoor ----
  Result<std::shared_ptr<ServerStream>> words(const KnownNode& node,
                                              std::string_view version) override;
  Result<std::shared_ptr<ServerStream>> bytes(const KnownNode& node,
                                              std::string_view version) override;
  void cut(std::string_view node) override;
  [[nodiscard]] std::optional<NodeConnection> connection(std::string_view node) const override;

 private:
  struct Dialled {
    std::shared_ptr<LineStream> stream;
    Pulse pulse = {};
    bool overrun = false;  // more waits for it than may
  };
  using Frame = std::variant<AgentFrame, ServerFrame>;

  Session next_session() { return Session{++sessions_}; }
  void deliver(ServerFrame frame);
  void keep(Frame frame);
  void wake() const;

  void heard(Session session);
  void take(Session session, std::string_view line);
  Result<void> take_frame(Session session, AgentFrame frame);
  Result<void> welcome(Session session, Hello& hello);
  void refuse(Session session, const Error& why);
  void drop(Session session, std::string_view why);
  std::shared_ptr<LineStream> forget(Session session);
  void watch();
  void tick();

  boost::asio::io_context& io_;
  Clock& clock_;
  ServerEnd& server_;
  Options options_;
  std::function<void()> wake_;
  std::uint64_t sessions_ = 0;

  AgentEnd* own_ = nullptr;
  Session own_session_;
  std::vector<Frame> waiting_;  // between the server and it

  std::map<Session, Dialled> dialled_;
  NodeSessions nodes_;
  std::vector<Session> overrun_;
  Timer ticks_;
};

}  // namespace paceline
