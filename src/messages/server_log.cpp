#include "messages/server_log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/utf8.hpp"
#include "model/reason.hpp"

namespace paceline {
namespace {

std::string count(std::size_t n, std::string_view noun) {
  return fmt::format("{} {}{}", n, noun, n == 1 ? "" : "s");
}

// "exit code 1", "signal 9", "out of memory": the cause, and nothing of its owner's words.
std::string cause_text(const Ending& ending) {
  if (ending.cause == Cause::exited && ending.exit_code)
    return fmt::format("exit code {}", *ending.exit_code);
  if (ending.cause == Cause::signalled) return fmt::format("signal {}", ending.signal);
  std::string text(to_string(ending.cause));
  std::ranges::replace(text, '_', ' ');
  return text;
}

std::string asked_text(Request request) {
  switch (request) {
    case Request::cancel:
      return "cancels";
    case Request::pause:
      return "pauses";
    case Request::resume:
      break;
  }
  return "resumes";
}

std::string user_of(const Principal& by) {
  return by.user.empty() ? fmt::format("user {}", by.uid.value_or(0)) : by.user;
}

// Nothing: the server says so itself.
std::string said_by(const Principal& by) {
  return by == Principal{} ? "" : fmt::format(", by {}'s word", user_of(by));
}

std::string parameters_text(const std::map<std::string, std::string>& parameters) {
  std::string text;
  for (const auto& [name, value] : parameters)
    text += fmt::format("{}{}={}", text.empty() ? " with " : ", ", name, value);
  return text;
}

}  // namespace

ServerLog::ServerLog(const State& state, Say say)
    : state_(state), say_([say = std::move(say)](LogLevel level, const std::string& line) {
        say(level, printable(line));
      }) {
  see_state();
  for (const Job& job : state.jobs()) {
    if (is_over(job.state)) over_.insert(job.id);
  }
}

void ServerLog::see_state() {
  if (const auto* policy = state_.policy()) policy_ = policy->name;
  for (const Node& node : state_.nodes()) {
    if (node.retired) continue;
    nodes_[node.id] = seen_of(node.spec);
    nodes_[node.id].up = node.up;
  }
}

void ServerLog::catch_up(Time now) {
  now_ = now;
  see_state();
  for (const Job& job : state_.jobs()) take_end(job);
}

void ServerLog::take_end(const Job& job) {
  if (is_over(job.state) && over_.insert(job.id).second) ended(job);
}

void ServerLog::take(std::span<const Entry> entries, std::span<const JobId> touched, Time now) {
  step(now);
  now_ = now;
  for (const Entry& entry : entries) {
    if (const auto* event = std::get_if<Event>(&entry.body))
      std::visit([this](const auto& one) { on(one); }, *event);
    else
      on(std::get<Plan>(entry.body));
  }
  for (const JobId id : touched) {
    if (const Job* job = state_.find_job(id)) take_end(*job);
  }
}

void ServerLog::on(const NodeDown& event) {
  nodes_[event.node].up = false;
  warn(fmt::format("Node {} does not answer: nothing is placed there until it does.",
                   node_name(event.node)));
}

void ServerLog::on(const NodesRetired& event) {
  for (const NodeId id : event.nodes) {
    nodes_.erase(id);
    inform(
        fmt::format("Node {} was absent for too long: it retires, and joins anew if it comes back.",
                    node_name(id)));
  }
}

void ServerLog::on(const NodeDrained& event) {
  const Node* node = state_.find_node(event.node);
  const std::string& reason = event.order.reason;
  const std::string why = reason.empty() ? "" : fmt::format(": {}", reason);
  if (event.order.keeps && event.by.user.empty() && !event.by.uid)
    return warn(
        fmt::format("Node {0} is set aside{1}. 'paceline undrain {0}' lets jobs start there again.",
                    node_name(event.node), why));
  if (node != nullptr && node->drains())
    return inform(fmt::format("Node {} drains, by {}'s word{}. Nothing starts there.",
                              node_name(event.node), user_of(event.by), why));
  inform(fmt::format("Node {} is to drain, by {}'s word{}.", node_name(event.node),
                     user_of(event.by), why));
}

void ServerLog::on(const DrainBegan& event) {
  inform(fmt::format("Node {} drains, as was announced. Nothing starts there.",
                     node_name(event.node)));
}

void ServerLog::on(const NodeUndrained& event) {
  inform(fmt::format("Node {} drains no longer, by {}'s word.", node_name(event.node),
                     user_of(event.by)));
}

void ServerLog::on(const NodeOff& event) {
  inform(fmt::format("Node {} is off, by the word of {}: what ran there counts as ended.",
                     node_name(event.node), event.by));
}

void ServerLog::on(const PolicySet& event) {
  const auto before = std::exchange(policy_, event.name);
  const bool same = before.empty() || before == event.name;
  inform(fmt::format("The policy is {}{}{}{}.", event.name, parameters_text(event.parameters),
                     said_by(event.by), same ? "" : fmt::format("; it was {}", before)));
}

void ServerLog::on(const PolicyLoaded& event) {
  inform(fmt::format("The policy {} is {}{}.", event.name,
                     event.text.empty() ? "forgotten" : "loaded", said_by(event.by)));
}

void ServerLog::on(const PolicyFailed& event) {
  warn(fmt::format("The policy {} was set aside for a round: {}", event.name, event.why));
}

void ServerLog::on(const TrialBegan& event) {
  inform(fmt::format("The policy {}{} is tried, without effect{}.", event.name,
                     parameters_text(event.parameters), said_by(event.by)));
}

void ServerLog::on(const TrialEnded& event) {
  inform(fmt::format("The policy {} is tried no longer{}.", event.name, said_by(event.by)));
}

void ServerLog::on(const RulesSet& event) {
  if (!event.rules.reclaim_after) return;
  inform(fmt::format("A job that never saved is asked for its slots {:g} s before it is stopped{}.",
                     to_seconds(*event.rules.reclaim_after), said_by(event.by)));
}

void ServerLog::on(const JobSubmitted& event) {
  say_(LogLevel::debug, fmt::format("{} is submitted.", name_of(event.job)));
}

// What its owner asks for is seen in what becomes of it.
void ServerLog::on(const JobRequested& event) {
  const Job* job = state_.find_job(event.job);
  if (job == nullptr || event.by.uid == job->spec->uid) return;
  say_of_job(
      fmt::format("{} {} {}.", user_of(event.by), asked_text(event.request), name_of(event.job)),
      "asked for by others");
}

void ServerLog::on(const JobsForgotten& event) {
  for (const JobId id : event.jobs) over_.erase(id);
}

ServerLog::Seen ServerLog::seen_of(const NodeSpec& node) {
  const auto usable = std::ranges::count_if(node.slots, &SlotSpec::usable);
  return {true, node.refusal ? node.refusal->why : "", node.slots.size(),
          static_cast<std::size_t>(usable)};
}

void ServerLog::on(const NodeUp& event) {
  const auto& refusal = event.spec.refusal;
  const Seen seen = seen_of(event.spec);
  const Seen before = std::exchange(nodes_[event.node], seen);
  if (before == seen) return;
  const auto& name = event.spec.name;
  if (before.up != seen.up || before.slots != seen.slots || before.usable != seen.usable) {
    const auto unusable = seen.slots - seen.usable;
    inform(fmt::format("Node {} is there with {}{}.", name, count(seen.slots, "slot"),
                       unusable == 0 ? "" : fmt::format(", {} of them not usable", unusable)));
  }
  if (before.refuses == seen.refuses) return;
  if (refusal)
    warn(fmt::format(
        "Node {} {}: {}", name,
        refusal->unhealthy ? "is unhealthy and starts nothing" : "starts nothing for now",
        refusal->why));
  else
    inform(fmt::format("Node {} starts workers again.", name));
}

void ServerLog::on(const Plan& plan) {
  for (const Change& change : plan.changes) {
    const auto line = fmt::format("{}: {}.", name_of(change.job), sentence(change.reason));
    if (preempts(change.kind))
      say_of_job(line, "stopped for others");
    else
      say_(LogLevel::debug, line);
  }
}

void ServerLog::ended(const Job& job) {
  const std::string state(to_string(job.state));
  const bool well = !job.ending || job.ending->clean();
  say_of_job(
      fmt::format("{} {}{} after {:.1f} s of running.", name_of(job.id), state,
                  well ? "" : fmt::format(" ({})", cause_text(*job.ending)), to_seconds(job.ran)),
      state);
}

void ServerLog::say_of_job(const std::string& line, const std::string& what) {
  if (!begun_) {
    begun_ = now_;
    said_ = 0;
  }
  if (said_ < kJobLinesMax) {
    ++said_;
    return inform(line);
  }
  ++sums_[what];
  say_(LogLevel::debug, line);
}

std::optional<Time> ServerLog::due() const {
  if (sums_.empty()) return std::nullopt;
  return *begun_ + kJobLinesSpan;
}

void ServerLog::step(Time now) {
  if (!begun_ || now < *begun_ + kJobLinesSpan) return;
  const auto span = now - *std::exchange(begun_, {});
  if (sums_.empty()) return;
  std::string text;
  for (const auto& [what, n] : std::exchange(sums_, {}))
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", n, what);
  inform(fmt::format("More jobs in {:.0f} s: {}.", to_seconds(span), text));
}

std::string ServerLog::name_of(JobId id) const {
  const Job* job = state_.find_job(id);
  if (job == nullptr) return fmt::format("Job {}", id.value);
  return fmt::format("Job {} ({}) of {}", id.value, job->spec->name, job->spec->user);
}

std::string ServerLog::node_name(NodeId id) const {
  const Node* node = state_.find_node(id);
  return node == nullptr ? fmt::format("{}", id.value) : node->spec.name;
}

}  // namespace paceline
