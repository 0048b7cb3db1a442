#include "wire/timeline.hpp"

#include <fmt/format.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/utf8.hpp"
#include "model/job_spec.hpp"
#include "wire/agent_bounds.hpp"
#include "wire/json.hpp"
#include "wire/json_writer.hpp"

namespace paceline {
namespace {

constexpr std::size_t kAddedMax = 1 << 10;  // by the agent
constexpr JsonBounds kPieceBounds{kTimelineBytesMax + kAddedMax, 4, 1 << 15};
constexpr std::int64_t kTimeMax = std::int64_t{1} << 53;
constexpr auto kWholeMax = std::numeric_limits<std::uint32_t>::max();

bool is_time(const Json& value, std::int64_t min) {
  return value.is_number_integer() && value.get<std::int64_t>() >= min &&
         (!value.is_number_unsigned() || value.get<std::uint64_t>() <= kTimeMax);
}

// [name, step, start] and, unless it goes on still, how long it took.
std::optional<TimelineSpan> read_span(const Json& value, bool goes_on) {
  if (!value.is_array() || value.size() != (goes_on ? 3U : 4U)) return std::nullopt;
  const auto* name = value[0].get_ptr<const std::string*>();
  if (name == nullptr || name->empty() || name->size() > kSpanNameMax || !is_visible(*name))
    return std::nullopt;
  if (!is_time(value[1], 0) || !is_time(value[2], 0)) return std::nullopt;
  TimelineSpan span{*name, value[1].get<std::uint64_t>(), value[2].get<std::int64_t>(), 0};
  if (goes_on) return span;
  if (!is_time(value[3], 0)) return std::nullopt;
  span.duration_us = value[3].get<std::int64_t>();
  return span;
}

void read_spans(ObjectReader& reader, std::string_view key, std::vector<TimelineSpan>& out) {
  const bool goes_on = key == "open";
  const Json* found = reader.find(key);
  if (found == nullptr) return;
  const auto refuse = [&] {
    reader.refuse(
        {ErrorCode::invalid,
         goes_on ? fmt::format("'open' in timeline must be at most {} of [name, step, start_us].",
                               kOpenSpansMax)
                 : fmt::format("'{}' in timeline must be a list of [name, step, start_us, "
                               "duration_us], with a name of 1 to {} bytes and whole numbers.",
                               key, kSpanNameMax),
         R"(Send spans as in {"spans": [["compute", 12, 0, 5000]]}.)", Retry::useless});
  };
  if (!found->is_array() || (goes_on && found->size() > kOpenSpansMax)) return refuse();
  for (const Json& each : *found) {
    auto span = read_span(each, goes_on);
    if (!span) return refuse();
    out.push_back(std::move(*span));
  }
}

void read_clock(ObjectReader& reader, TimelinePiece& piece) {
  const Json* found = reader.find("clock");
  if (found == nullptr) return;
  ObjectReader clock(*found, "clock");
  clock.whole("offset_us", piece.offset_us, -kTimeMax, kTimeMax);
  clock.whole("uncertainty_us", piece.uncertainty_us, 0, kTimeMax);
  clock.whole("wall_us", piece.wall_us, -kTimeMax, kTimeMax);
  if (auto read = clock.finish(); !read) reader.refuse(std::move(read.error()));
}

enum class Told { by_worker, by_agent };

Result<TimelinePiece> read_piece(std::string_view text, Told told) {
  if (told == Told::by_worker && text.size() > kTimelineBytesMax)
    return fail(ErrorCode::too_large,
                fmt::format("A piece of a timeline may have {} bytes, this one has {}.",
                            kTimelineBytesMax, text.size()),
                "Send fewer spans at a time.");
  const auto json = parse_json(text, kPieceBounds);
  if (!json) return fail(json.error());
  TimelinePiece piece;
  ObjectReader reader(*json, "timeline");
  if (told == Told::by_agent)
    reader.require({"attempt", "born"})
        .whole("attempt", piece.attempt, 0, kWholeMax)
        .whole("born", piece.born, 0, kWholeMax)
        .text("node", piece.node, kNodeNameMax);
  reader.require({"rank", "size", "generation", "from_us"});
  reader.whole("pid", piece.pid, 0, kWholeMax);
  reader.whole("rank", piece.rank, 0, kWorkersMax - 1).whole("size", piece.size, 1, kWorkersMax);
  reader.whole("generation", piece.generation, 0, kWholeMax);
  reader.whole("from_us", piece.from_us, 0, kTimeMax).whole("at_us", piece.at_us, 0, kTimeMax);
  reader.flag("ended", piece.ended);
  read_clock(reader, piece);
  read_spans(reader, "open", piece.open);
  read_spans(reader, "spans", piece.spans);
  read_spans(reader, "beside", piece.beside);
  if (auto read = reader.finish(); !read) return fail(std::move(read.error()));
  return piece;
}

void write_spans(JsonWriter& json, std::string_view key, const std::vector<TimelineSpan>& spans) {
  json.key(key).begin_array();
  for (const auto& span : spans) {
    json.begin_array().value(span.name).value(span.step).value(span.start_us);
    if (key != "open") json.value(span.duration_us);
    json.end_array();
  }
  json.end_array();
}

}  // namespace

Result<TimelinePiece> parse_timeline(std::string_view body) {
  return read_piece(body, Told::by_worker);
}

Result<TimelinePiece> parse_timeline_line(std::string_view line) {
  return read_piece(line, Told::by_agent);
}

std::string timeline_line(const TimelinePiece& piece) {
  JsonWriter json;
  json.begin_object().field("attempt", piece.attempt).field("born", piece.born);
  json.field("node", piece.node)
      .field("pid", piece.pid)
      .field("rank", piece.rank)
      .field("size", piece.size);
  json.field("generation", piece.generation);
  json.key("clock").begin_object().field("offset_us", piece.offset_us);
  json.field("uncertainty_us", piece.uncertainty_us).field("wall_us", piece.wall_us).end_object();
  json.field("from_us", piece.from_us).field("at_us", piece.at_us).field("ended", piece.ended);
  write_spans(json, "open", piece.open);
  write_spans(json, "spans", piece.spans);
  write_spans(json, "beside", piece.beside);
  json.end_object();
  return json.take() + "\n";
}

}  // namespace paceline
