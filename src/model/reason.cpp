#include "model/reason.hpp"

#include <fmt/format.h>

namespace paceline {
namespace {

std::int64_t number(const Reason& r, std::size_t i) {
  return i < r.numbers.size() ? r.numbers[i] : 0;
}

// "WaitsForSlots" as "waits_for_slots"; what is that already stays so.
std::string snake_case(std::string_view text) {
  std::string word;
  for (const char c : text) {
    const bool is_capital = c >= 'A' && c <= 'Z';
    if (is_capital && !word.empty()) word += '_';
    word += is_capital ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return word;
}

std::string slots(std::int64_t n) { return fmt::format("{} slot{}", n, n == 1 ? "" : "s"); }
// "9m15s"
std::string span(std::int64_t seconds) {
  const auto hours = seconds / 3600, minutes = seconds / 60 % 60;
  if (hours > 0) return fmt::format("{}h{:02}m", hours, minutes);
  return minutes > 0 ? fmt::format("{}m{:02}s", minutes, seconds % 60)
                     : fmt::format("{}s", seconds);
}
std::string workers(std::int64_t n) { return fmt::format("{} worker{}", n, n == 1 ? "" : "s"); }

// "3", or "3, which has less left,"
std::string beneficiary(std::int64_t job, const Reason& r) {
  return r.text.empty() ? fmt::format("{}", job) : fmt::format("{}, which {},", job, r.text);
}

std::string wait_sentence(const Reason& r) {
  const auto a = number(r, 0), b = number(r, 1), c = number(r, 2);
  switch (r.code) {
    case ReasonCode::held:
      return "held by its owner: 'resume' lets it go";
    case ReasonCode::waits_for_jobs:
      return fmt::format("waits for {} to complete, job {} first",
                         a == 1 ? "a job" : fmt::format("{} jobs", a), b);
    case ReasonCode::backs_off:
      if (!r.text.empty()) return fmt::format("was not started: {}; tried again soon", r.text);
      if (a == 0) return "was lost with its node, or not started by it: tried again soon";
      return fmt::format("backs off after {} failed start{}: tried again soon", a,
                         a == 1 ? "" : "s");
    case ReasonCode::waits_for_slots:
      return fmt::format("needs {}, {} free now", slots(a), b);
    case ReasonCode::waits_behind:
      return fmt::format("waits behind job {}, which is ahead and needs {} ({} free now)", a,
                         slots(b), c);
    case ReasonCode::waits_for_giver:
      return fmt::format(
          "needs {}, {} free now: job {} would give some up, but is left alone for now", slots(a),
          b, c);
    case ReasonCode::waits_for_fit:
      return fmt::format("needs {}; {} are free, but not {}{}", slots(a), b,
                         r.text.empty() ? "where its workers would fit" : "as it asks: it ",
                         r.text);
    case ReasonCode::waits_for_place:
      return fmt::format("{}; {} {} free elsewhere", r.text, slots(b), b == 1 ? "is" : "are");
    case ReasonCode::waits_for_empty:
      return fmt::format("starts as soon as {} promised to it {} empty", slots(a),
                         a == 1 ? "is" : "are");
    case ReasonCode::waits_for_checkpoint:
      if (a == 0) return "is to give way once it acknowledges a checkpoint";
      return fmt::format("is to have {}: resized once it acknowledges a checkpoint", workers(a));
    case ReasonCode::waits_for_leavers:
      return fmt::format("is to have {}: resized once {} ended", workers(a),
                         b == 1 ? "a worker that leaves it has"
                                : fmt::format("{} that leave it have", workers(b)));
    case ReasonCode::waits_for_node:
      return fmt::format("is to have {}: resized once {} is heard again", workers(a), r.text);
    case ReasonCode::waits_for_window:
      return fmt::format("is {}, but is left alone until its last disturbance is paid for",
                         a == 0 ? "to give way" : "to have " + workers(a));
    case ReasonCode::too_costly:
      return fmt::format("would lose {} slot-seconds by a change that gains {}: it stays as it is",
                         b, a);
    case ReasonCode::waits_for_others:
      return fmt::format("needs {}, {} free now: {} go first", slots(a), b, r.text);
    case ReasonCode::waits_for_turn:
      return fmt::format("could use {}, but the policy gives the slots to others", workers(a));
    case ReasonCode::waits_for_reclaim:
      return fmt::format("needs {}, {} free now: job {} was asked to save, and gives way within {}",
                         slots(a), b, c, span(number(r, 3)));
    case ReasonCode::waits_for_own:
      return fmt::format("is frozen with its work in memory, in slots that job {} has now", a);
    case ReasonCode::waits_for_kept:
      return fmt::format("waited for too long: {} {} kept for it, {} free now{}", slots(a),
                         a == 1 ? "is" : "are", b,
                         c == 0 ? "" : fmt::format(", job {} is the last to leave", c));
    case ReasonCode::waits_for_patient:
      return fmt::format(
          "needs {}, {} free now: slots are kept for job {}, which waited for too long", slots(a),
          b, c);
    case ReasonCode::no_node:
      return "no node is up";
    case ReasonCode::fits_nowhere:
      return "fits nowhere any more: " + r.text;
    case ReasonCode::node_refuses:
      return r.text;
    default:
      return {};
  }
}

std::string note(const Reason& r) { return r.text.empty() ? "" : "; " + r.text; }

std::string act_sentence(const Reason& r) {
  const auto a = number(r, 0), b = number(r, 1), c = number(r, 2);
  switch (r.code) {
    case ReasonCode::starts:
      return fmt::format("starts with {}{}", workers(a), note(r));
    case ReasonCode::starts_at_min:
      return fmt::format("starts with {} of the {} it would like{}", workers(a), b, note(r));
    case ReasonCode::grows:
      return fmt::format("grows from {} to {}: slots are free", a, workers(b));
    case ReasonCode::shrinks_for:
      return fmt::format("shrinks from {} to {} so that job {} can start", a, workers(b),
                         beneficiary(c, r));
    case ReasonCode::shrinks_to_share:
      return fmt::format("shrinks from {} to {}, its even share", a, workers(b));
    case ReasonCode::stops_for:
      return fmt::format("stops so that job {} can start", beneficiary(a, r));
    case ReasonCode::pauses_for:
      return fmt::format("is frozen where it is so that job {} can start", beneficiary(a, r));
    case ReasonCode::goes_on:
      return fmt::format("goes on with {} where it was frozen", workers(a));
    case ReasonCode::starts_anew:
      return fmt::format("starts anew with {}: its own slots were not to be had", workers(a));
    case ReasonCode::moves_for:
      return fmt::format("moves so that job {} finds seats together", a);
    case ReasonCode::owner_resized:
      return fmt::format("is resized by its owner from {} to {}", a, workers(b));
    case ReasonCode::replaces_dead:
      return fmt::format("gets others in place of workers that died: {}, of which {} {} left",
                         workers(b), a, a == 1 ? "is" : "are");
    case ReasonCode::leaves_node:
      if (b == 0) return fmt::format("is stopped: node {} drains", r.text);
      return fmt::format("leaves node {}, which drains, and goes on with {}{}", r.text, workers(b),
                         a == b ? "" : fmt::format(" of {}", a));
    default:
      return {};
  }
}

std::string run_sentence(const Reason& r) {
  const auto a = number(r, 0), b = number(r, 1), c = number(r, 2);
  switch (r.code) {
    case ReasonCode::runs:
      return a >= b ? fmt::format("runs with {}, as many as it may have", workers(a))
                    : fmt::format("runs with {} of at most {}", workers(a), b);
    case ReasonCode::asked:
      return fmt::format(
          "is asked for {} by job {}: stopped {}{} unless it saves or ends before; it would lose "
          "{}",
          slots(a), b, number(r, 2) > 0 ? "in " : "at any moment",
          number(r, 2) > 0 ? span(number(r, 2)) : "", span(number(r, 3)));
    case ReasonCode::leaves_slots:
      return fmt::format(
          "runs with {} of at most {}: it leaves free slots to job {}, which is ahead", workers(a),
          b, c);
    case ReasonCode::stays_on_node:
      return fmt::format(
          "runs on node {}, which drains: {}", r.text,
          a < 0 ? "it leaves when it can go on elsewhere without losing work, or ends"
                : fmt::format("it is stopped in {} unless it can leave before", span(a)));
    case ReasonCode::node_away:
      return fmt::format(
          "ran with {} when node {} was last heard of, which does not answer: it goes on there, "
          "and "
          "is heard of again when the node is{}",
          workers(a), r.text,
          b > 0
              ? fmt::format("; a machine that hears of no server for {} ends its workers, and the "
                            "job then starts elsewhere",
                            span(b))
              : "");
    case ReasonCode::target_reached:
      return "has reached its target: its script is told to stop";
    case ReasonCode::starting:
      return fmt::format("has {} of {} running", a, workers(b));
    case ReasonCode::resizing:
      return fmt::format("goes from {} to {}", a, workers(b));
    case ReasonCode::awaits_checkpoint:
      return fmt::format("starts again once {} has sent its newest checkpoint to the server",
                         r.text);
    case ReasonCode::awaits_newcomers:
      return fmt::format("runs with {}, and goes on with {} once the new ones are ready",
                         workers(a), b);
    case ReasonCode::awaits_replacements:
      return fmt::format("waits with {} of {} until others join in place of those that died", a,
                         workers(b));
    case ReasonCode::meets_anew:
      return fmt::format("goes on with {}, which meet now", workers(a));
    case ReasonCode::paused:
      return "paused by its owner: it keeps its slots, 'resume' lets it go on";
    case ReasonCode::stopping:
      return fmt::format("is stopping: {}", r.text);
    default:
      return r.text;
  }
}

}  // namespace

std::string_view name(ReasonCode code) {
  switch (code) {
    case ReasonCode::none:
      return "none";
    case ReasonCode::held:
      return "held";
    case ReasonCode::waits_for_jobs:
      return "waits_for_jobs";
    case ReasonCode::backs_off:
      return "backs_off";
    case ReasonCode::waits_for_slots:
      return "waits_for_slots";
    case ReasonCode::waits_behind:
      return "waits_behind";
    case ReasonCode::waits_for_giver:
      return "waits_for_giver";
    case ReasonCode::waits_for_fit:
      return "waits_for_fit";
    case ReasonCode::waits_for_place:
      return "waits_for_place";
    case ReasonCode::waits_for_empty:
      return "waits_for_empty";
    case ReasonCode::waits_for_checkpoint:
      return "waits_for_checkpoint";
    case ReasonCode::waits_for_leavers:
      return "waits_for_leavers";
    case ReasonCode::waits_for_node:
      return "waits_for_node";
    case ReasonCode::waits_for_window:
      return "waits_for_window";
    case ReasonCode::too_costly:
      return "too_costly";
    case ReasonCode::waits_for_others:
      return "waits_for_others";
    case ReasonCode::waits_for_turn:
      return "waits_for_turn";
    case ReasonCode::waits_for_reclaim:
      return "waits_for_reclaim";
    case ReasonCode::waits_for_own:
      return "waits_for_own";
    case ReasonCode::waits_for_kept:
      return "waits_for_kept";
    case ReasonCode::waits_for_patient:
      return "waits_for_patient";
    case ReasonCode::no_node:
      return "no_node";
    case ReasonCode::fits_nowhere:
      return "fits_nowhere";
    case ReasonCode::node_refuses:
      return "node_refuses";
    case ReasonCode::starts:
      return "starts";
    case ReasonCode::starts_at_min:
      return "starts_at_min";
    case ReasonCode::grows:
      return "grows";
    case ReasonCode::shrinks_for:
      return "shrinks_for";
    case ReasonCode::shrinks_to_share:
      return "shrinks_to_share";
    case ReasonCode::stops_for:
      return "stops_for";
    case ReasonCode::pauses_for:
      return "pauses_for";
    case ReasonCode::goes_on:
      return "goes_on";
    case ReasonCode::starts_anew:
      return "starts_anew";
    case ReasonCode::moves_for:
      return "moves_for";
    case ReasonCode::owner_resized:
      return "owner_resized";
    case ReasonCode::replaces_dead:
      return "replaces_dead";
    case ReasonCode::leaves_node:
      return "leaves_node";
    case ReasonCode::runs:
      return "runs";
    case ReasonCode::asked:
      return "asked";
    case ReasonCode::leaves_slots:
      return "leaves_slots";
    case ReasonCode::stays_on_node:
      return "stays_on_node";
    case ReasonCode::node_away:
      return "node_away";
    case ReasonCode::target_reached:
      return "target_reached";
    case ReasonCode::starting:
      return "starting";
    case ReasonCode::resizing:
      return "resizing";
    case ReasonCode::awaits_checkpoint:
      return "awaits_checkpoint";
    case ReasonCode::awaits_newcomers:
      return "awaits_newcomers";
    case ReasonCode::awaits_replacements:
      return "awaits_replacements";
    case ReasonCode::meets_anew:
      return "meets_anew";
    case ReasonCode::paused:
      return "paused";
    case ReasonCode::stopping:
      return "stopping";
    case ReasonCode::ended:
      return "ended";
    case ReasonCode::script:
      return "script";
  }
  return "none";
}

std::optional<ReasonCode> parse_reason_code(std::string_view text) {
  const std::string word = snake_case(text);
  for (int i = 0; i <= static_cast<int>(kLastReasonCode); ++i) {
    const auto code = static_cast<ReasonCode>(i);
    if (name(code) == word) return code;
  }
  if (text == "Running") return ReasonCode::runs;
  if (word == "waits_for_donor") return ReasonCode::waits_for_giver;  // of earlier versions
  return std::nullopt;
}

std::string sentence(const Reason& reason) {
  if (reason.code < ReasonCode::starts) return wait_sentence(reason);
  return reason.code < ReasonCode::runs ? act_sentence(reason) : run_sentence(reason);
}

}  // namespace paceline
