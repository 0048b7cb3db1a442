#include "scenario/script.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <stdexcept>

#include "model/limits.hpp"
#include "model/unmet.hpp"
#include "placement/placers.hpp"
#include "policy/registry.hpp"
#include "scheduler/commands.hpp"
#include "scheduler/explain.hpp"

namespace paceline::testing {
namespace {

constexpr int kSettleRoundsMax = 1000;

[[noreturn]] void unreadable(std::string_view word) {
  throw std::invalid_argument(fmt::format("'{}' is not a word of the language of scenarios", word));
}

std::string joined(const std::vector<std::string>& words, std::size_t from) {
  std::string text;
  for (std::size_t i = from; i < words.size(); ++i) text += (text.empty() ? "" : " ") + words[i];
  return text;
}

std::vector<std::string> told(const Result<void>& verdict) {
  if (verdict) return {};
  const auto& [code, message, hint, retry] = verdict.error();
  return {fmt::format("refused: {}{}{}", message, hint.empty() ? "" : " ", hint)};
}

Progress progress_of(const std::vector<std::string>& words, Time now) {
  Progress report;
  report.reported_at = now;
  for (std::size_t i = 2; i < words.size(); ++i) {
    const auto equals = words[i].find('=');
    if (equals == std::string::npos) unreadable(words[i]);
    const auto name = words[i].substr(0, equals);
    double value = 0;
    const auto* last = words[i].data() + words[i].size();
    if (std::from_chars(words[i].data() + equals + 1, last, value).ptr != last)
      unreadable(words[i]);
    if (name == "samples")
      report.samples = static_cast<std::uint64_t>(value);
    else if (name == "step_seconds")
      report.step_seconds = value;
    else
      report.metrics[name] = value;
  }
  return report;
}

}  // namespace

World& Script::world() {
  if (!world_) throw std::invalid_argument("a scenario begins with its cluster");
  return *world_;
}

std::vector<std::string> Script::run(std::string_view line) {
  const Words words = split(line, ' ');
  if (words.empty()) return {};
  const std::string& verb = words[0];
  const auto rest = line.substr(std::min(line.find(verb) + verb.size(), line.size()));
  if (verb == "cluster") {
    world_ = std::make_unique<World>(rest);
    return {};
  }
  if (verb == "policy") return set_policy(words), Words{};
  if (verb == "placement") return set_placement(words), Words{};
  if (verb == "reclaim-after") return world().tell(RulesSet{{span(words.at(1))}}), Words{};
  if (verb == "advance") return world().advance(span(words.at(1))), Words{};
  if (verb == "round") return round();
  if (verb == "calm") return calm();
  if (verb == "obey") return obey(), Words{};
  if (verb == "show" || verb == "why" || verb == "jobs") return shown(words);
  if (verb == "down" || verb == "up" || verb == "lost" || verb == "retire" || verb == "refuse")
    return nodes(words);
  if (verb == "started" || verb == "ended" || verb == "checkpoint" || verb == "report" ||
      verb == "expire" || verb == "stands")
    return workers(words);
  return people(words, rest);
}

JobId Script::job_named(const std::string& word) const {
  return JobId{static_cast<std::uint32_t>(number(word))};
}

void Script::set_policy(const Words& words) {
  Parameters parameters;
  protects_ = Protects::yes;
  for (std::size_t i = 2; i < words.size(); ++i) {
    const auto equals = words[i].find('=');
    if (equals != std::string::npos)
      parameters[words[i].substr(0, equals)] = words[i].substr(equals + 1);
    else if (words[i] == "unprotected")
      protects_ = Protects::no;
    else
      unreadable(words[i]);
  }
  auto made = PolicyRegistry().make(words.at(1), parameters);
  if (!made) throw std::invalid_argument(made.error().message);
  policy_ = std::move(*made);
  world().set_policy(words[1], parameters);
}

void Script::set_placement(const Words& words) {
  auto made = make_placer(words.at(1));
  if (!made) throw std::invalid_argument(made.error().message);
  placer_ = std::move(*made);
  world().set_placer(*placer_);
}

std::vector<std::string> Script::people(const Words& words, std::string_view rest) {
  if (words[0] == "submit") return submit(rest);
  const JobId id = job_named(words.at(1));
  if (words[0] == "resize") {
    const auto range = parse_range(words.at(2));
    if (!range) return {fmt::format("refused: {}", range.error().message)};
    const auto verdict = admit(world().state(), id, *range);
    if (verdict) world().resize(id, words[2]);
    return told(verdict);
  }
  const bool known = words[0] == "cancel" || words[0] == "pause" || words[0] == "resume";
  if (!known) unreadable(words[0]);
  const Request request = words[0] == "cancel"  ? Request::cancel
                          : words[0] == "pause" ? Request::pause
                                                : Request::resume;
  const auto verdict = admit(world().state(), id, request);
  if (verdict) world().tell(JobRequested{id, request, account(1000)});
  return told(verdict);
}

std::vector<std::string> Script::submit(std::string_view literal) {
  LaunchSpec launch;
  launch.command = {"train"};
  launch.directory = "/";
  const auto verdict =
      admit(world().state(), testing::job(literal), launch, world().state().next_job_id(),
            paceline::shown(world().state().clock_marks(), world().now()));
  if (verdict) world().submit(literal);
  return told(verdict);
}

std::vector<std::string> Script::workers(const Words& words) {
  const JobId id = job_named(words.at(1));
  if (words[0] == "checkpoint") return world().checkpoint(id), Words{};
  if (words[0] == "report") return world().report(id, progress_of(words, world().now())), Words{};
  if (words[0] == "expire") return world().time_limit(id), Words{};
  if (words[0] == "stands") return world().stands(id), Words{};
  const bool one = words.size() > 2 && words[2].starts_with("rank=");
  const auto rank = one ? static_cast<std::int32_t>(number(words[2].substr(5))) : 0;
  if (words[0] == "started") return one ? world().started(id, rank) : world().started(id), Words{};
  const auto how = joined(words, one ? 3 : 2);
  const Ending e = ending(how.empty() ? "0" : how);
  return one ? world().ended(id, rank, e) : world().ended(id, e), Words{};
}

std::vector<std::string> Script::nodes(const Words& words) {
  if (words[0] == "down") world().node_down(words.at(1));
  if (words[0] == "up") world().node_up(words.at(1));
  if (words[0] == "lost") world().node_lost(words.at(1));
  if (words[0] == "retire") world().node_retired(words.at(1));
  if (words[0] == "refuse")
    world().node_refuses(words.at(1), {joined(words, 3), world().now() + span(words.at(2))});
  return {};
}

std::vector<std::string> Script::shown(const Words& words) {
  const Explanation explanation(world().snapshot(), policy_.get(), *placer_, protects_);
  if (words[0] == "why") return explanation.lines(world().job(job_named(words.at(1))));
  std::vector<std::string> lines;
  for (const Job& job : world().state().jobs()) {
    if (words[0] == "show" && job.id != job_named(words.at(1))) continue;
    lines.push_back(fmt::format("{} {} workers {} \"{}\"", job.id.value, to_string(job.state),
                                job.workers(), sentence(explanation.reason(job))));
  }
  return lines;
}

std::vector<std::string> Script::round() {
  if (!policy_) throw std::invalid_argument("a scenario names its policy before its first round");
  const Plan plan = world().round(decider(*policy_), protects_);
  return plan_lines(plan);
}

std::vector<std::string> Script::plan_lines(const Plan& plan) {
  std::vector<std::string> lines;
  for (const Change& change : plan.changes) {
    std::string line = fmt::format("{} {}", to_string(change.kind), change.job.value);
    if (!preempts(change.kind)) {
      line += fmt::format(" workers {}{}", change.placement.size(), where(change.placement));
    }
    lines.push_back(fmt::format("{} \"{}\"", line, sentence(change.reason)));
  }
  const Explanation explanation(world().snapshot(), policy_.get(), *placer_, protects_);
  for (const Asking& asking : plan.asked) {
    const Job& job = world().job(asking.job);
    lines.push_back(
        asking.by ? fmt::format("ask {} \"{}\"", job.id.value, sentence(explanation.reason(job)))
                  : fmt::format("ask {} no more", job.id.value));
  }
  for (const auto& key : world().state().queue()) {
    const Job& job = world().job(key.job);
    if (job.state != JobState::pending && !(job.lends() && !job.forming)) continue;
    lines.push_back(fmt::format("wait {} \"{}\"", job.id.value, sentence(explanation.reason(job))));
  }
  return lines;
}

// Said only where there is a choice.
std::string Script::where(const Placement& placement) const {
  if (world_->state().nodes().size() == 1) return {};
  std::map<NodeId, int> use;
  for (const Seat& seat : placement) ++use[seat.node];
  std::string text = " on";
  for (const auto& [node, count] : use)
    text += fmt::format(" {}*{}", world_->state().find_node(node)->spec.name, count);
  return text;
}

std::vector<std::string> Script::calm() {
  std::vector<std::string> lines;
  for (int i = 0; i < kSettleRoundsMax; ++i) {
    const auto before = world().state().seq();
    for (auto& line : round()) {
      if (!line.starts_with("wait")) lines.push_back(std::move(line));
    }
    obey();
    if (world().state().seq() == before) return lines;
  }
  throw std::logic_error("the world does not come to rest");
}

bool Script::obey() {
  const auto before = world().state().seq();
  std::vector<JobId> active;
  for (const auto& key : world().state().active()) active.push_back(key.job);
  for (const JobId id : active) obey(id);
  return world().state().seq() != before;
}

void Script::obey(JobId id) {
  const Job& job = world().job(id);
  std::vector<Event> told;
  each_unmet(world().state(), job, [&](const ProcessKey& worker, Unmet left, const Stop* stop) {
    if (left == Unmet::start) told.emplace_back(WorkerStarted{worker, 4000 + worker.number});
    if (left == Unmet::ready) told.emplace_back(WorkerReady{worker, job.forming->generation});
    if (left != Unmet::end) return;
    Ending how = ending("signal 9");
    how.cause = stop->cause;
    how.at = world().now();
    told.emplace_back(WorkerEnded{worker, how});
  });
  for (Event& event : told) world().tell(std::move(event));
  if (is_to_stand(job)) world().stands(id);
  const std::chrono::seconds patience{Limits{}.replacements_wait};
  if (const auto since = job.short_since(); since && world().now() >= *since + patience)
    world().tell(NewcomersLate{id, job.current->generation});
}

}  // namespace paceline::testing
