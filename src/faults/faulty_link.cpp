#include "faults/faulty_link.hpp"

#include <algorithm>
#include <utility>

namespace paceline::faults {

FaultyLink::FaultyLink(EventQueue& queue, Ledger& ledger, Rng rng, std::uint64_t& sessions)
    : queue_(queue), ledger_(ledger), rng_(rng), sessions_(sessions) {}

Duration FaultyLink::up_to(Duration most) { return Duration{rng_.between(0, most.count())}; }

void FaultyLink::set_server(ServerEnd* server) {
  server_ = server;
  ++server_life_;
  const Session session = std::exchange(open_, {});
  if (!server && session.value != 0) tell_agent(session);
}

void FaultyLink::set_agent(AgentEnd* agent) {
  agent_ = agent;
  ++agent_life_;
  agent_knows_ = {};
  const Session session = std::exchange(open_, {});
  if (!agent && session.value != 0) tell_server(session);
}

void FaultyLink::connect() {
  if (!server_ || !agent_ || cut_.to_agent || cut_.to_server || open_.value != 0) return;
  if (admit_ && !admit_()) return;
  pulse_ = {};
  open_ = agent_knows_ = Session{++sessions_};
  mine_.insert(open_);
  server_->connected(open_);
  agent_->connected(open_);
}

void FaultyLink::break_connection() {
  const Session session = std::exchange(open_, {});
  if (session.value == 0) return;
  tell_server(session);
  tell_agent(session);
}

void FaultyLink::end(Session session) {
  if (open_ == session) open_ = {};
  tell_agent(session);
}

void FaultyLink::vanish() {
  agent_ = nullptr;
  ++agent_life_;
  agent_knows_ = open_ = {};
}

void FaultyLink::beat() {
  if (open_.value == 0) return;
  if (!cut_.to_agent) pulse_.heard();
  if (pulse_.tick() != Pulse::Due::end) return;
  ledger_.note("agent hears nothing");
  break_connection();
}

void FaultyLink::tell_server(Session session) {
  queue_.after(up_to(habits_.break_told_max), [this, session, life = server_life_] {
    if (server_ && life == server_life_) server_->disconnected(session);
  });
}

void FaultyLink::tell_agent(Session session) {
  queue_.after(up_to(habits_.break_told_max), [this, session, life = agent_life_] {
    if (agent_ && life == agent_life_ && agent_knows_ == session) agent_->disconnected();
  });
}

template <class Deliver>
void FaultyLink::carry(bool cut, Time& newest, Deliver deliver) {
  ledger_.count("message");
  if (cut || rng_.chance(habits_.loss)) return ledger_.count("message lost");
  const int copies = rng_.chance(habits_.doubling) ? 2 : 1;
  if (copies > 1) ledger_.count("message doubled");
  for (int i = 0; i < copies; ++i) {
    const Time arrival = queue_.now() + up_to(habits_.delay_max);
    if (arrival < newest) ledger_.count("message overtaken");
    newest = std::max(newest, arrival);
    queue_.at(arrival, deliver);
  }
}

// As the other end reads it.
template <class Frame, class Decode>
Frame FaultyLink::travelled(const Frame& frame, Decode decode) const {
  if (!habits_.as_text) return frame;
  auto read = decode(encode(frame));
  if (read) return std::move(*read);
  ledger_.wrong(queue_.now(), "a frame can't be read: " + read.error().message);
  return frame;
}

void FaultyLink::send(const AgentFrame& frame) {
  carry(cut_.to_server, newest_to_server_, [this, frame, life = server_life_] {
    if (server_ && life == server_life_) server_->receive(travelled(frame, decode_agent_frame));
  });
}

void FaultyLink::send(const ServerFrame& frame) {
  if (!mine_.contains(frame.session)) return;
  carry(cut_.to_agent, newest_to_agent_, [this, frame, life = agent_life_] {
    if (!agent_ || life != agent_life_) return;
    answered_ = frame.session;
    agent_->receive(travelled(frame, decode_server_frame));
  });
}

}  // namespace paceline::faults
