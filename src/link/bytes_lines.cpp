#include "link/bytes_lines.hpp"

#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "ship/manifest.hpp"
#include "wire/error_json.hpp"
#include "wire/json.hpp"
#include "wire/json_writer.hpp"

namespace paceline {
namespace {

constexpr JsonBounds kBounds{kBytesLineMax, 3, 32};
constexpr std::size_t kMachineSentMax = 128;
constexpr std::size_t kTicketMax = 128;
constexpr std::size_t kSentenceMax = 4 << 10;
constexpr std::size_t kDigestMax = 64;
constexpr std::uint64_t kOffsetMax = std::numeric_limits<std::int64_t>::max();
constexpr auto kIdMax = std::numeric_limits<std::uint32_t>::max();
constexpr auto kNumberMax = std::numeric_limits<std::int32_t>::max();
constexpr std::array<std::string_view, 3> kStates{"taken", "later", "unwanted"};

tl::unexpected<Error> malformed(std::string message) {
  return fail(ErrorCode::invalid, std::move(message), "Both ends must be Paceline programs.");
}

// ---- writing ----

template <class Write>
std::string line_of(std::string_view kind, Write write) {
  JsonWriter json;
  json.begin_object().key(kind).begin_object();
  write(json);
  json.end_object().end_object();
  return json.take() + "\n";
}

void write_log(JsonWriter& json, const LogName& log) {
  json.field("job", log.job.value).field("number", log.number);
}

void write_file(JsonWriter& json, JobId job, const std::string& sha256) {
  json.field("job", job.value).field("sha256", sha256);
}

struct NodeWriter {
  std::string operator()(const ShipWanted& wanted) const {
    return line_of("want", [&](JsonWriter& json) {
      write_file(json, wanted.job, wanted.sha256);
      json.field("from", wanted.from);
    });
  }
  std::string operator()(const ShipDamaged& damaged) const {
    return line_of("damaged",
                   [&](JsonWriter& json) { write_file(json, damaged.job, damaged.sha256); });
  }
  std::string operator()(const BytesHello& hello) const {
    return line_of("hello", [&](JsonWriter& json) {
      json.field("version", hello.version).field("machine", hello.machine).field("now", hello.now);
    });
  }
  std::string operator()(const TicketShown& shown) const {
    return line_of("ticket", [&](JsonWriter& json) { json.field("ticket", shown.ticket); });
  }
  std::string operator()(const LogAsked& asked) const {
    return line_of("ask", [&](JsonWriter& json) { write_log(json, asked.log); });
  }
  std::string operator()(const PieceHead& piece) const {
    return line_of("piece", [&](JsonWriter& json) {
      write_log(json, piece.log);
      json.field("from", piece.from).field("offset", piece.offset).field("bytes", piece.bytes);
      json.field("at", piece.at).field("anew", piece.anew);
    });
  }
  std::string operator()(const LogsWhole& whole) const {
    return line_of("whole", [&](JsonWriter& json) { json.field("job", whole.job.value); });
  }
  std::string operator()(const NoDoor& none) const {
    return line_of("no_terminal", [&](JsonWriter& json) {
      json.field("ticket", none.ticket).field("message", none.message);
    });
  }
};

struct ServerWriter {
  std::string operator()(const ShipPart& part) const {
    return line_of("part", [&](JsonWriter& json) {
      write_file(json, part.job, part.sha256);
      json.field("from", part.from).field("bytes", part.bytes).field("of", part.of);
    });
  }
  std::string operator()(const NoShipPart& none) const {
    return line_of("no_part", [&](JsonWriter& json) {
      write_file(json, none.job, none.sha256);
      json.field("message", none.message).field("hint", none.hint);
    });
  }
  std::string operator()(const BytesWelcome&) const {
    return line_of("welcome", [](JsonWriter&) {});
  }
  std::string operator()(const LogStanding& standing) const {
    return line_of("standing", [&](JsonWriter& json) {
      write_log(json, standing.log);
      json.field("taken", standing.taken);
      json.field("state", kStates.at(static_cast<std::size_t>(standing.state)));
      json.field("over", standing.over);
    });
  }
  std::string operator()(const FlushAsked& asked) const {
    return line_of("flush", [&](JsonWriter& json) { json.field("job", asked.job.value); });
  }
  std::string operator()(const DoorAsked& asked) const {
    return line_of("attach", [&](JsonWriter& json) {
      json.field("job", asked.worker.job.value).field("born", asked.worker.born.value);
      json.field("number", asked.worker.number).field("ticket", asked.ticket);
      if (asked.door == WorkerDoor::stacks) json.field("stacks", true);
    });
  }
  std::string operator()(const BytesRefused& refused) const {
    return line_of("refused", [&](JsonWriter& json) {
      json.field("code", to_string(refused.error.code)).field("message", refused.error.message);
      json.field("hint", refused.error.hint);
    });
  }
};

// ---- reading ----

ObjectReader& read_log(ObjectReader& reader, LogName& log) {
  return reader.require({"job", "number"})
      .whole("job", log.job.value, 1, kIdMax)
      .whole("number", log.number, 0, kNumberMax);
}

template <class Line, class Value>
Result<Line> finished(ObjectReader& reader, Value value) {
  if (auto read = reader.finish(); !read) return fail(std::move(read.error()));
  return Line(std::move(value));
}

Result<NodeLine> read_hello(const Json& object) {
  BytesHello hello;
  std::optional<WallTime> now;
  ObjectReader reader(object, "hello");
  reader.require({"version", "machine", "now"}).whole("version", hello.version, 0, kIdMax);
  reader.text("machine", hello.machine, kMachineSentMax).time("now", now);
  hello.now = now.value_or(WallTime{});
  return finished<NodeLine>(reader, std::move(hello));
}

Result<NodeLine> read_ticket(const Json& object) {
  TicketShown shown;
  ObjectReader reader(object, "ticket");
  reader.require({"ticket"}).text("ticket", shown.ticket, kTicketMax);
  return finished<NodeLine>(reader, std::move(shown));
}

Result<NodeLine> read_ask(const Json& object) {
  LogAsked asked;
  ObjectReader reader(object, "ask");
  read_log(reader, asked.log);
  return finished<NodeLine>(reader, asked);
}

Result<NodeLine> read_piece(const Json& object) {
  PieceHead piece;
  std::optional<WallTime> at;
  ObjectReader reader(object, "piece");
  read_log(reader, piece.log).require({"from", "offset", "bytes", "at", "anew"});
  reader.whole("from", piece.from, 0, kOffsetMax).whole("offset", piece.offset, 0, kOffsetMax);
  reader.whole("bytes", piece.bytes, 0, kPieceBytesMax).time("at", at).flag("anew", piece.anew);
  piece.at = at.value_or(WallTime{});
  if (reader.ok() && piece.offset < piece.from)
    return malformed("A piece of a log begins before what was sent of it.");
  if (reader.ok() && kOffsetMax - piece.offset < piece.bytes)
    return malformed("A piece of a log ends behind every file.");
  return finished<NodeLine>(reader, piece);
}

Result<NodeLine> read_whole(const Json& object) {
  LogsWhole whole;
  ObjectReader reader(object, "whole");
  reader.require({"job"}).whole("job", whole.job.value, 1, kIdMax);
  return finished<NodeLine>(reader, whole);
}

Result<NodeLine> read_no_terminal(const Json& object) {
  NoDoor none;
  ObjectReader reader(object, "no_terminal");
  reader.require({"ticket", "message"}).text("ticket", none.ticket, kTicketMax);
  reader.text("message", none.message, kSentenceMax);
  return finished<NodeLine>(reader, std::move(none));
}

ObjectReader& read_file(ObjectReader& reader, JobId& job, std::string& sha256) {
  reader.require({"job", "sha256"}).whole("job", job.value, 1, kIdMax);
  reader.text("sha256", sha256, kDigestMax);
  if (reader.ok() && !is_ship_name(sha256))
    reader.refuse({ErrorCode::invalid, "A shipped file is named by something else than a digest.",
                   "Both ends must be Paceline programs."});
  return reader;
}

Result<NodeLine> read_want(const Json& object) {
  ShipWanted wanted;
  ObjectReader reader(object, "want");
  read_file(reader, wanted.job, wanted.sha256).require({"from"});
  reader.whole("from", wanted.from, 0, kManifestSumMax);
  return finished<NodeLine>(reader, std::move(wanted));
}

Result<NodeLine> read_damaged(const Json& object) {
  ShipDamaged damaged;
  ObjectReader reader(object, "damaged");
  read_file(reader, damaged.job, damaged.sha256);
  return finished<NodeLine>(reader, std::move(damaged));
}

Result<ServerLine> read_part(const Json& object) {
  ShipPart part;
  ObjectReader reader(object, "part");
  read_file(reader, part.job, part.sha256).require({"from", "bytes", "of"});
  reader.whole("from", part.from, 0, kManifestSumMax).whole("bytes", part.bytes, 0, kPieceBytesMax);
  reader.whole("of", part.of, 0, kManifestSumMax);
  return finished<ServerLine>(reader, std::move(part));
}

Result<ServerLine> read_no_part(const Json& object) {
  NoShipPart none;
  ObjectReader reader(object, "no_part");
  read_file(reader, none.job, none.sha256).require({"message"});
  reader.text("message", none.message, kSentenceMax).text("hint", none.hint, kSentenceMax);
  return finished<ServerLine>(reader, std::move(none));
}

Result<ServerLine> read_standing(const Json& object) {
  LogStanding standing;
  std::string state;
  ObjectReader reader(object, "standing");
  read_log(reader, standing.log).require({"taken", "state", "over"});
  reader.whole("taken", standing.taken, 0, kOffsetMax).text("state", state, kTicketMax);
  reader.flag("over", standing.over);
  for (std::size_t i = 0; i < kStates.size(); ++i)
    if (state == kStates.at(i)) standing.state = static_cast<LogState>(i);
  if (reader.ok() && state != kStates.at(static_cast<std::size_t>(standing.state)))
    return malformed("The standing of a log is told in a word that isn't known.");
  return finished<ServerLine>(reader, standing);
}

Result<ServerLine> read_flush(const Json& object) {
  FlushAsked asked;
  ObjectReader reader(object, "flush");
  reader.require({"job"}).whole("job", asked.job.value, 1, kIdMax);
  return finished<ServerLine>(reader, asked);
}

Result<ServerLine> read_attach(const Json& object) {
  DoorAsked asked;
  bool stacks = false;
  ObjectReader reader(object, "attach");
  reader.require({"job", "born", "number", "ticket"});
  reader.whole("job", asked.worker.job.value, 1, kIdMax);
  reader.whole("born", asked.worker.born.value, 0, kIdMax);
  reader.whole("number", asked.worker.number, 0, kNumberMax);
  reader.text("ticket", asked.ticket, kTicketMax).flag("stacks", stacks);
  if (stacks) asked.door = WorkerDoor::stacks;
  return finished<ServerLine>(reader, std::move(asked));
}

Result<ServerLine> read_refused(const Json& object) {
  BytesRefused refused;
  std::string code;
  ObjectReader reader(object, "refused");
  reader.require({"code", "message"}).text("code", code, kTicketMax);
  reader.text("message", refused.error.message, kSentenceMax);
  reader.text("hint", refused.error.hint, kSentenceMax);
  refused.error.code = parse_error_code(code).value_or(ErrorCode::unavailable);
  return finished<ServerLine>(reader, std::move(refused));
}

Result<ServerLine> read_welcome(const Json& object) {
  ObjectReader reader(object, "welcome");
  return finished<ServerLine>(reader, BytesWelcome{});
}

template <class Line>
struct Kind {
  std::string_view name;
  Result<Line> (*read)(const Json& object);
};

constexpr std::array<Kind<NodeLine>, 8> kNodeKinds{{{"hello", read_hello},
                                                    {"ticket", read_ticket},
                                                    {"ask", read_ask},
                                                    {"piece", read_piece},
                                                    {"whole", read_whole},
                                                    {"no_terminal", read_no_terminal},
                                                    {"want", read_want},
                                                    {"damaged", read_damaged}}};
constexpr std::array<Kind<ServerLine>, 7> kServerKinds{{{"welcome", read_welcome},
                                                        {"standing", read_standing},
                                                        {"flush", read_flush},
                                                        {"attach", read_attach},
                                                        {"refused", read_refused},
                                                        {"part", read_part},
                                                        {"no_part", read_no_part}}};

template <class Line, std::size_t N>
Result<Line> decode(std::string_view line, const std::array<Kind<Line>, N>& kinds) {
  const auto json = parse_json(line, kBounds);
  if (!json) return fail(json.error());
  if (!json->is_object() || json->size() != 1)
    return malformed("A line of a connection for bytes must be one object with one key.");
  for (const auto& kind : kinds)
    if (const auto found = json->find(kind.name); found != json->end()) return kind.read(*found);
  return malformed("A line of a connection for bytes is of a kind that isn't known.");
}

}  // namespace

std::string encode(const NodeLine& line) { return std::visit(NodeWriter{}, line); }
std::string encode(const ServerLine& line) { return std::visit(ServerWriter{}, line); }

Result<NodeLine> decode_node_line(std::string_view line) { return decode(line, kNodeKinds); }
Result<ServerLine> decode_server_line(std::string_view line) { return decode(line, kServerKinds); }

void BytesReader::feed(std::string_view bytes) {
  if (begin_ == kept_.size() || begin_ >= kPieceBytesMax) kept_.erase(0, std::exchange(begin_, 0));
  kept_ += bytes;
}

Result<bool> BytesReader::next_line(std::string& line) {
  const auto end = left().substr(0, kBytesLineMax + 1).find('\n');
  if (end == std::string_view::npos) {
    if (left().size() <= kBytesLineMax) return false;
    return fail(ErrorCode::too_large, "A line of a connection for bytes is too long.",
                "Both ends must be Paceline programs.");
  }
  line.assign(left().substr(0, end));
  drop(end + 1);
  return true;
}

bool BytesReader::next_bytes(std::size_t count, std::string& bytes) {
  if (left().size() < count) return false;
  bytes.assign(left().substr(0, count));
  drop(count);
  return true;
}

std::string BytesReader::rest() {
  std::string rest(left());
  drop(rest.size());
  return rest;
}

void BytesReader::drop(std::size_t count) { begin_ += count; }

}  // namespace paceline
