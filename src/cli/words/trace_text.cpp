#include "cli/words/trace_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "cli/words/text.hpp"
#include "wire/json_writer.hpp"

namespace paceline {
namespace {

constexpr double kStalledSeconds = 10;
constexpr double kQuietSeconds = 64, kSlackSeconds = 6;
constexpr double kUsInSecond = 1e6;
constexpr std::string_view kUnfinished = " (not ended)";
constexpr std::size_t kNamedMax = 8;
// In which a rank waits for others.
constexpr std::array<std::string_view, 3> kWaits{"gradients", "others", "resize"};

// What is added to a time of the piece for the time since 1970.
std::int64_t base_us(const TimelinePiece& piece) {
  return piece.from_us + piece.offset_us + piece.wall_us;
}

bool is_waiting(const TimelinePiece& piece) {
  return !piece.open.empty() && std::ranges::find(kWaits, piece.open.back().name) != kWaits.end();
}

// How long the process had been in the innermost span when it told so.
double seconds_in(const TimelinePiece& piece) {
  return static_cast<double>(piece.at_us - piece.open.back().start_us) / kUsInSecond;
}

std::string rank_words(const TimelinePiece& piece) {
  return piece.node.empty() ? fmt::format("rank {}", piece.rank)
                            : fmt::format("rank {} on {}", piece.rank, piece.node);
}

// Since 1970, when it told so.
std::int64_t told_us(const TimelinePiece& piece) { return base_us(piece) + piece.at_us; }

// A rank that stays in a span tells so again after as long as it has been there, or a minute.
bool is_silent(const TimelinePiece& piece, double seconds) {
  return seconds > std::min(seconds_in(piece), kQuietSeconds) + kSlackSeconds;
}

std::string doing(const TimelinePiece& piece, double silent_seconds) {
  const auto& in = piece.open.back();
  const auto where = in.step == 0 ? in.name : fmt::format("{} of step {}", in.name, in.step);
  if (is_silent(piece, silent_seconds))
    return fmt::format("{} had told nothing for {}, and was in {} before", rank_words(piece),
                       human_duration(silent_seconds), where);
  return fmt::format("{} had been in {} for {}", rank_words(piece), where,
                     human_duration(seconds_in(piece)));
}

std::string some_of(std::vector<std::string> words) {
  const auto more = words.size() - std::min(words.size(), kNamedMax);
  words.resize(words.size() - more);
  if (more > 0) words.push_back(fmt::format("{} more", more));
  return listed(words);
}

std::string metadata(std::size_t process, int thread, std::string_view kind, auto value) {
  JsonWriter json;
  json.begin_object().field("ph", "M").field("pid", process).field("tid", thread);
  json.field("name", kind).key("args").begin_object();
  json.field(kind.ends_with("name") ? "name" : "sort_index", value);
  json.end_object().end_object();
  return json.take();
}

}  // namespace

std::string TraceText::add(std::int32_t number, TimelinePiece piece) {
  std::string out;
  const auto spans = std::exchange(piece.spans, {}), beside = std::exchange(piece.beside, {});
  const Process& process = process_of(number, std::move(piece), out);
  for (const auto& span : spans) write(process, span, Track::training, out);
  for (const auto& span : beside) write(process, span, Track::beside, out);
  return out;
}

TraceText::Process& TraceText::process_of(std::int32_t number, TimelinePiece piece,
                                          std::string& out) {
  const auto [found, is_new] =
      processes_.try_emplace(ProcessName(number, piece.attempt, piece.born, piece.pid),
                             Process{processes_.size() + 1, number, {}});
  Process& process = found->second;
  const bool renamed = is_new || process.last.rank != piece.rank;
  process.last = std::move(piece);
  newest_us_ = std::max(newest_us_, told_us(process.last));
  if (renamed) name(process, out);
  note_clock(process);
  return process;
}

// Of names that come again the last one counts.
void TraceText::name(const Process& process, std::string& out) {
  const auto& piece = process.last;
  auto words = rank_words(piece);
  if (piece.rank != process.number) words += fmt::format(" (log {})", process.number);
  if (piece.attempt > 1) words += fmt::format(", attempt {}", piece.attempt);
  append(metadata(process.id, 0, "process_name", words), out);
  append(metadata(process.id, 0, "process_sort_index", piece.rank), out);
  append(metadata(process.id, 1, "thread_name", "training"), out);
  append(metadata(process.id, 2, "thread_name", "beside it"), out);
}

void TraceText::note_clock(const Process& process) {
  const auto& piece = process.last;
  if (!clocks_known_.emplace(process.id, piece.generation).second) return;
  JsonWriter json;
  json.begin_object().field("pid", process.id).field("rank", piece.rank).field("node", piece.node);
  json.field("attempt", piece.attempt).field("generation", piece.generation);
  json.field("offset_us", piece.offset_us).field("uncertainty_us", piece.uncertainty_us);
  json.end_object();
  clocks_ += (clocks_.empty() ? "" : ",\n") + json.take();
}

void TraceText::write(const Process& process, const TimelineSpan& span, Track track,
                      std::string& out) {
  const auto& piece = process.last;
  const auto begin = base_us(piece) + span.start_us;
  if (begin + span.duration_us < options_.since_us) return;
  JsonWriter json;
  json.begin_object().field("ph", "X").field("pid", process.id);
  json.field("tid", static_cast<int>(track)).field("ts", begin).field("dur", span.duration_us);
  json.field("name", span.name).key("args").begin_object().field("step", span.step);
  json.field("generation", piece.generation).field("rank", piece.rank);
  json.end_object().end_object();
  append(json.take(), out);
}

// As long as its process told that they last.
void TraceText::write_open(const Process& process, std::string& out) {
  for (TimelineSpan span : process.last.open) {
    span.duration_us = std::max<std::int64_t>(0, process.last.at_us - span.start_us);
    span.name += kUnfinished;
    write(process, span, Track::training, out);
  }
}

void TraceText::append(std::string_view event, std::string& out) {
  out += std::exchange(begun_, true) ? ",\n" : "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n";
  out += event;
}

std::string TraceText::end() {
  std::string out;
  for (const auto& [key, process] : processes_) write_open(process, out);
  JsonWriter json;
  json.begin_object().field("job", options_.job).field("stalled", unless_empty(stalled()));
  json.raw_field("clocks", "[" + clocks_ + "]").end_object();
  return out + "\n],\"otherData\":" + json.take() + "}\n";
}

std::vector<const TraceText::Process*> TraceText::newest_generation() const {
  std::pair<std::uint32_t, std::uint32_t> newest;
  for (const auto& [key, process] : processes_)
    newest = std::max(newest, std::pair(process.last.attempt, process.last.generation));
  std::vector<const Process*> members;
  for (const auto& [key, process] : processes_)
    if (std::pair(process.last.attempt, process.last.generation) == newest)
      members.push_back(&process);
  std::ranges::sort(members, {}, [](const Process* each) { return each->last.rank; });
  return members;
}

std::string TraceText::stalled() const {
  std::set<std::string_view> waits;
  std::vector<std::string> waiting, busy;
  double longest = 0;
  const auto members = newest_generation();
  std::int64_t newest = 0;
  for (const Process* each : members) newest = std::max(newest, told_us(each->last));
  for (const Process* each : members) {
    const auto& last = each->last;
    if (last.ended || last.open.empty()) continue;
    const auto silent = static_cast<double>(newest - told_us(last)) / kUsInSecond;
    if (!is_waiting(last) || is_silent(last, silent)) {
      busy.push_back(doing(last, silent));
      continue;
    }
    waits.insert(last.open.back().name);
    waiting.push_back(fmt::format("{}", last.rank));
    longest = std::max(longest, seconds_in(last));
  }
  if (busy.empty() || longest < kStalledSeconds || !options_.all_ranks) return {};
  const auto* rank = waiting.size() == 1 ? "rank" : "ranks";
  return fmt::format("When they told last, {} {} had waited for others for {} ({}); {}.", rank,
                     some_of(std::move(waiting)), human_duration(longest),
                     listed({waits.begin(), waits.end()}), some_of(std::move(busy)));
}

}  // namespace paceline
