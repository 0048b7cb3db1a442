// The two ends of a connection between server and agent, and the shortest way between them. An end
// is driven from one thread: frames and the word about connections come in, frames go out through
// on_send, step() does what is due by the time.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <utility>
#include <variant>

#include "wire/agent_protocol.hpp"

namespace paceline {

// The server's end of all its connections (engine/agents).
class ServerEnd {
 public:
  virtual ~ServerEnd() = default;
  // REQUIRES: greater than every session before it.
  virtual void connected(Session session) = 0;
  // No frame of it arrives any more. Unknown sessions are fine.
  virtual void disconnected(Session session) = 0;
  virtual void receive(AgentFrame frame) = 0;
  virtual void on_send(std::function<void(ServerFrame)> send) = 0;
  // Does what is due.
  virtual void step() = 0;
  // When step() is due without news.
  [[nodiscard]] virtual std::optional<Time> next_due() const = 0;
};

// An agent's end of its one connection (agent/).
class AgentEnd {
 public:
  virtual ~AgentEnd() = default;
  // What comes in waits for step().
  virtual void connected(Session session) = 0;
  virtual void disconnected() = 0;
  virtual void receive(ServerFrame frame) = 0;
  virtual void on_send(std::function<void(AgentFrame)> send) = 0;
  // Called whenever something came in that step() must see.
  virtual void on_wake(std::function<void()> wake) = 0;
  virtual void step(Time now) = 0;
  [[nodiscard]] virtual std::optional<Time> next_due() const = 0;
};

// Carries frames as values between both ends in one process, on one thread, in order and without
// loss.
//
//   LocalLink link(engine, agent);
//   link.on_wake([&] { post([&] { link.pump(); }); });
//   link.open();
class LocalLink {
 public:
  // Both ends must outlive the link.
  LocalLink(ServerEnd& server, AgentEnd& agent);
  LocalLink(const LocalLink&) = delete;
  LocalLink& operator=(const LocalLink&) = delete;

  // Connects both ends; a link that is open is closed first.
  void open();
  void close();
  // Delivers what waits; what that calls forth wakes again.
  void pump();
  // Called when there is something to pump, at most once until pump().
  void on_wake(std::function<void()> wake) { wake_ = std::move(wake); }

 private:
  void add(std::variant<AgentFrame, ServerFrame> frame);

  ServerEnd& server_;
  AgentEnd& agent_;
  std::function<void()> wake_;
  std::deque<std::variant<AgentFrame, ServerFrame>> waiting_;
  std::uint64_t opened_ = 0;
  bool open_ = false;
};

}  // namespace paceline
