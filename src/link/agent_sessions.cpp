#include "link/agent_sessions.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <utility>

#include "base/check.hpp"
#include "link/link_words.hpp"
#include "link/versions.hpp"
#include "model/label.hpp"

namespace paceline {
namespace {

// The node's own word counts where the invitation says nothing.
void put_in_place(NodeSpec& spec, const NodePlace& place) {
  if (!place.rack.empty()) spec.rack = place.rack;
  if (!place.network_switch.empty()) spec.network_switch = place.network_switch;
  auto labels = place.labels;
  for (auto& [key, value] : spec.labels) {
    if (labels.size() < kLabelsMax) labels.try_emplace(key, std::move(value));
  }
  spec.labels = std::move(labels);
}

Error another_name(const KnownNode& node, const std::string& said) {
  return {ErrorCode::conflict,
          fmt::format("This machine joined as '{}', but its agent calls it '{}'.", node.id, said),
          "Start the agent without --node, or with the name that it joined by.", Retry::useless};
}

std::string machine_of(const std::string& address, const std::string& boot) {
  return fmt::format("{} (boot {})", address, boot);
}

}  // namespace

AgentSessions::AgentSessions(boost::asio::io_context& io, Clock& clock, ServerEnd& server,
                             Options options)
    : io_(io), clock_(clock), server_(server), options_(std::move(options)), ticks_(io) {
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
  NodeEntry& entry = nodes_[node.id];
  if (entry.silent) drop(*entry.silent, "has dialled again");
  entry.silent = session;
  entry.version = version;
  dialled_.emplace(session, Dialled{node, stream});
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
  const auto found = nodes_.find(node);
  if (found == nodes_.end()) return;
  const NodeEntry entry = found->second;
  for (const auto& session : {entry.greeted, entry.silent}) {
    if (session) drop(*session, "is cut off");
  }
  nodes_.erase(found);
}

std::optional<NodeConnection> AgentSessions::connection(std::string_view node) const {
  const auto found = nodes_.find(node);
  if (found == nodes_.end()) return {};
  const NodeEntry& entry = found->second;
  return NodeConnection{entry.greeted.has_value(), entry.last_heard, entry.version};
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
  Dialled& agent = dialled_.at(session);
  agent.pulse.heard();
  nodes_.find(agent.node.id)->second.last_heard = clock_.now();
}

void AgentSessions::take(Session session, std::string_view line) {
  if (line.empty()) return;
  auto frame = decode_agent_frame(line);
  const auto taken = frame ? take_frame(session, dialled_.at(session), std::move(*frame))
                           : Result<void>(fail(no_frame("agent", frame.error())));
  if (!taken) refuse(session, taken.error());
}

Result<void> AgentSessions::take_frame(Session session, Dialled& agent, AgentFrame frame) {
  if (frame.session != session)
    return fail(ErrorCode::data, "A frame of another session came over this connection.");
  if (auto* hello = frame.message ? std::get_if<Hello>(&*frame.message) : nullptr) {
    if (auto ok = welcome(session, agent, *hello); !ok) return ok;
  }
  if (agent.boot_id.empty()) return {};  // what comes before Hello says nothing
  if (auto* changed = frame.message ? std::get_if<NodeChanged>(&*frame.message) : nullptr)
    put_in_place(changed->node, agent.node.place);
  server_.receive(std::move(frame));
  wake();
  return {};
}

Result<void> AgentSessions::welcome(Session session, Dialled& agent, Hello& hello) {
  if (hello.node.name != agent.node.id) return fail(another_name(agent.node, hello.node.name));
  if (hello.boot_id.empty()) return fail(ErrorCode::data, "A Hello names no boot of its machine.");
  if (auto one = check_machine(session, agent, hello); !one) return one;
  put_in_place(hello.node, agent.node.place);
  NodeEntry& entry = nodes_.find(agent.node.id)->second;
  if (entry.greeted == session) return {};  // told again
  if (entry.greeted) drop(*entry.greeted, "has dialled again");
  entry.greeted = session;
  entry.silent.reset();
  agent.boot_id = hello.boot_id;
  agent.address = hello.node.address;
  spdlog::info("Node {} has connected from {} (version {}).", agent.node.id, agent.address,
               entry.version);
  return {};
}

// Of two that show one identity, the one that is heard is the node.
Result<void> AgentSessions::check_machine(Session session, const Dialled& agent,
                                          const Hello& hello) {
  const auto first = nodes_.find(agent.node.id)->second.greeted;
  if (!first || *first == session) return {};
  const Dialled& other = dialled_.at(*first);
  if (other.boot_id == hello.boot_id) return {};
  return fail(ErrorCode::conflict,
              fmt::format("Two machines show the identity of node '{}': {} is connected, {} is not "
                          "heard.",
                          agent.node.id, machine_of(other.address, other.boot_id),
                          machine_of(hello.node.address, hello.boot_id)),
              fmt::format("If one was copied from the other: 'paceline node remove {}', then let "
                          "each join anew. If this one was started anew, it is heard in a moment.",
                          agent.node.id));
}

void AgentSessions::refuse(Session session, const Error& why) {
  spdlog::warn("Node {} is refused: {}", dialled_.at(session).node.id, why.message);
  const auto stream = forget(session);
  stream->send(encode_refusal(why));
  stream->end();
}

void AgentSessions::drop(Session session, std::string_view why) {
  const auto found = dialled_.find(session);
  if (found == dialled_.end()) return;
  spdlog::info("A connection of node {} ends: {}", found->second.node.id, why);
  forget(session)->cut();
}

std::shared_ptr<LineStream> AgentSessions::forget(Session session) {
  const auto found = dialled_.find(session);
  NodeEntry& entry = nodes_.find(found->second.node.id)->second;
  if (entry.greeted == session) entry.greeted.reset();
  if (entry.silent == session) entry.silent.reset();
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
