#include "link/agent_sessions.hpp"

#include <spdlog/spdlog.h>

#include <utility>

#include "base/check.hpp"
#include "link/link_words.hpp"
#include "link/versions.hpp"

namespace paceline {

AgentSessions::AgentSessions(boost::asio::io_context& io, Clock& clock, ServerEnd& server,
                             Options options)
    : io_(io),
      clock_(clock),
      server_(server),
      options_(std::move(options)),
      nodes_(clock.now(), options_.keep_boot),
      ticks_(io) {
  server_.on_send([this](ServerFrame frame) { deliver(std::move(frame)); });
}

AgentSessions::~AgentSessions() {
  server_.on_send({});
  for (const auto& [session, agent] : dialled_) agent.stream->cut();
}

void AgentSessions::wake() const {
  if (wake_) wake_();
}

// ---- this machine's own agent ----

void AgentSessions::open(AgentEnd& own) {
  check(own_ == nullptr, "a server has one agent of its own");
  own_ = &own;
  own.on_send([this](AgentFrame frame) { keep(std::move(frame)); });
  own_session_ = next_session();
  server_.connected(own_session_);
  own.connected(own_session_);
}

void AgentSessions::keep(Frame frame) {
  waiting_.push_back(std::move(frame));
  if (waiting_.size() == 1) wake();
}

void AgentSessions::pump() {
  auto frames = std::exchange(waiting_, {});
  for (auto& frame : frames) {
    if (auto* up = std::get_if<AgentFrame>(&frame))
      server_.receive(std::move(*up));
    else
      own_->receive(std::move(std::get<ServerFrame>(frame)));
  }
  for (const Session session : std::exchange(overrun_, {}))
    drop(session, "takes too little of what it is told");
}

// ---- agents that dial in ----

Result<std::shared_ptr<ServerStream>> AgentSessions::words(const KnownNode& node,
                                                           std::string_view version) {
  if (auto near = check_versions({.server = options_.version, .agent = version}); !near)
    return fail(std::move(near.error()));
  const Session session = next_session();
  auto stream = std::make_shared<LineStream>(
      io_, options_.queue_bytes_max,
      LineStream::Owner{.heard = [this, session] { heard(session); },
                        .line = [this, session](std::string_view line) { take(session, line); },
                        .over = [this, session](const std::string& why) { drop(session, why); }});
  if (const auto other = nodes_.dialled(session, node, version, clock_.now()))
    drop(*other, "has dialled again");
  dialled_.emplace(session, Dialled{stream});
  stream->send(encode(LinkGreeting{session, options_.version, options_.pulse.beat}));
  server_.connected(session);
  heard(session);
  watch();
  return stream;
}

Result<std::shared_ptr<ServerStream>> AgentSessions::bytes(const KnownNode& node,
                                                           std::string_view version) {
  if (auto near = check_versions({.server = options_.version, .agent = version}); !near)
    return fail(std::move(near.error()));
  if (options_.bytes) return options_.bytes().open(node);
  return fail(ErrorCode::unavailable, "This server takes no bytes of nodes.", {}, Retry::may_help);
}

void AgentSessions::cut(std::string_view node) {
  if (options_.bytes) options_.bytes().cut(node);
  for (const Session session : nodes_.of(node)) drop(session, "is cut off");
  nodes_.forget(node);
}

std::optional<NodeConnection> AgentSessions::connection(std::string_view node) const {
  const auto* entry = nodes_.find(node);
  if (entry == nullptr) return {};
  return NodeConnection{entry->greeted.has_value(), entry->last_heard, entry->version};
}

// The server calls this from within its own work, so nothing ends here.
void AgentSessions::deliver(ServerFrame frame) {
  if (own_ != nullptr && frame.session == own_session_) return keep(std::move(frame));
  const auto found = dialled_.find(frame.session);
  if (found == dialled_.end() || found->second.overrun) return;
  Dialled& agent = found->second;
  agent.overrun = !agent.stream->send(encode(frame));
  if (!agent.overrun) return;
  overrun_.push_back(frame.session);
  wake();
}

void AgentSessions::heard(Session session) {
  dialled_.at(session).pulse.heard();
  nodes_.heard(session, clock_.now());
}

void AgentSessions::take(Session session, std::string_view line) {
  if (line.empty()) return;
  auto frame = decode_agent_frame(line);
  const auto taken = frame ? take_frame(session, std::move(*frame))
                           : Result<void>(fail(no_frame("agent", frame.error())));
  if (!taken) refuse(session, taken.error());
}

Result<void> AgentSessions::take_frame(Session session, AgentFrame frame) {
  if (frame.session != session)
    return fail(ErrorCode::data, "A frame of another session came over this connection.");
  if (auto* hello = frame.message ? std::get_if<Hello>(&*frame.message) : nullptr) {
    if (auto ok = welcome(session, *hello); !ok) return ok;
  }
  if (!nodes_.has_greeted(session)) return {};
  if (auto* changed = frame.message ? std::get_if<NodeChanged>(&*frame.message) : nullptr)
    put_in_place(changed->node, nodes_.node_of(session).place);
  server_.receive(std::move(frame));
  wake();
  return {};
}

Result<void> AgentSessions::welcome(Session session, Hello& hello) {
  const auto greeted = nodes_.greet(session, hello, clock_.now());
  if (!greeted) return fail(greeted.error());
  if (greeted->ends) drop(*greeted->ends, "has dialled again");
  if (greeted->fresh)
    spdlog::info("Node {} has connected from {} (version {}).", hello.node.name, hello.node.address,
                 nodes_.find(hello.node.name)->version);
  return {};
}

void AgentSessions::refuse(Session session, const Error& why) {
  spdlog::warn("Node {} is refused: {}", nodes_.node_of(session).id, why.message);
  const auto stream = forget(session);
  stream->send(encode_refusal(why));
  stream->end();
}

void AgentSessions::drop(Session session, std::string_view why) {
  const auto found = dialled_.find(session);
  if (found == dialled_.end()) return;
  spdlog::info("A connection of node {} ends: {}", nodes_.node_of(session).id, why);
  forget(session)->cut();
}

std::shared_ptr<LineStream> AgentSessions::forget(Session session) {
  const auto found = dialled_.find(session);
  nodes_.over(session);
  auto stream = std::move(found->second.stream);
  dialled_.erase(found);
  server_.disconnected(session);
  wake();
  return stream;
}

// ---- the pulse ----

void AgentSessions::watch() {
  if (ticks_.set() || dialled_.empty()) return;
  ticks_.after(options_.pulse.tick(), [this] {
    tick();
    watch();
  });
}

void AgentSessions::tick() {
  std::vector<Session> silent;
  for (auto& [session, agent] : dialled_) {
    const auto due = agent.pulse.tick();
    if (due == Pulse::Due::end) silent.push_back(session);
    // Where it doesn't fit, the queue itself is what is said.
    if (due == Pulse::Due::beat) (void)agent.stream->send({});
  }
  for (const Session session : silent) drop(session, "it was not heard any more");
}

}  // namespace paceline
