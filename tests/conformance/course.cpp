#include "conformance/course.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace paceline::conformance {
namespace {

// Whose fault it is counts, not which of their own programs failed to start.
std::string end_of(const WorkerGone& gone) {
  switch (gone.cause) {
    case Cause::exited:
      return fmt::format("exited with {}", gone.exit_code.value_or(-1));
    case Cause::signalled:
      return fmt::format("ended by signal {}", gone.signal);
    case Cause::launch_failed:
    case Cause::setup_failed:
    case Cause::missing:
      return "failed to start";
    default:
      return std::string(to_string(gone.cause));
  }
}

}  // namespace

std::string to_text(const Course& course) {
  return course.empty() ? "nothing" : fmt::format("{}", fmt::join(course, ", "));
}

void ServerByHand::connect(agent::Agent& agent) {
  agent_ = &agent;
  session_.value += 1;
  number_ = taken_ = 0;
  frames_.clear();
  agent.on_send([this](AgentFrame frame) { frames_.push_back(std::move(frame)); });
  agent.start();
  agent.connected(session_);
}

void ServerByHand::say(ServerMessage message) {
  agent_->receive({session_, ++number_, taken_, taken_, std::move(message)});
}

void ServerByHand::step(Time now) {
  agent_->step(now);
  const std::uint64_t before = taken_;
  for (const AgentFrame& frame : std::exchange(frames_, {})) {
    if (frame.session != session_ || !frame.message || frame.number != taken_ + 1) continue;
    ++taken_;
    hear(*frame.message);
  }
  if (taken_ > before) agent_->receive({session_, 0, taken_, taken_, {}});
}

void ServerByHand::hear(const AgentMessage& message) {
  if (over_) return;
  if (const auto* hello = std::get_if<Hello>(&message)) {
    const auto claim = std::ranges::find(hello->claims, worker_, &Claim::key);
    if (claim != hello->claims.end() && claim->pid != 0) hear_running();
    hear_node(hello->node);
  }
  if (const auto* changed = std::get_if<NodeChanged>(&message)) hear_node(changed->node);
  if (const auto* runs = std::get_if<WorkerRuns>(&message); runs && runs->key == worker_)
    hear_running();
  const auto* gone = std::get_if<WorkerGone>(&message);
  if (gone == nullptr || gone->key != worker_) return;
  over_ = true;
  message_ = gone->message;
  course_.push_back(end_of(*gone));
}

void ServerByHand::hear_running() {
  if (!std::exchange(runs_, true)) course_.emplace_back("runs");
}

void ServerByHand::hear_node(const NodeSpec& node) {
  if (node.refusal.has_value() == held_back_) return;
  held_back_ = node.refusal.has_value();
  course_.emplace_back(held_back_ ? "the node is held back" : "the node is free again");
}

}  // namespace paceline::conformance
