// What server and node say to each other on a connection for bytes (agent_door.hpp): lines of JSON,
// of which each is one object with one key, its kind. Behind a `piece` so many bytes of a log follow,
// raw, behind a `part` so many of a shipped file. An empty line says nothing but that somebody is there.
//
//   node → server                           server → node
//   {"hello": {version, machine, now}}      {"welcome": {}}
//   {"ask": {job, number}}                  {"standing": {job, number, taken, state, over}}
//   {"piece": {job, number, from, offset, bytes, at, anew}}
//   {"whole": {job}}                        {"flush": {job}}
//   {"no_terminal": {ticket, message}}      {"attach": {job, born, number, ticket, stacks}}
//   {"want": {job, sha256, from}}           {"part": {job, sha256, from, bytes, of}}
//   {"damaged": {job, sha256}}              {"no_part": {job, sha256, message, hint}}
//   {"ticket": {ticket}}                    {"refused": {code, message, hint}}, the last one
//
// A node begins with `hello` and sends logs from then on. Or it begins with `ticket`, as it was asked
// by `attach`; then all that follows, in both directions, is what a terminal shows and takes, or, with
// `stacks`, the text of them.
//
// A log, and a timeline likewise, is known by its job and number (files/log_names.hpp). The node
// asks how far the server has it, and sends pieces from there. Each is answered by a `standing`. A
// log whose standing isn't `taken` is sent no further, until the node has asked anew.
//
// Of a job that was placed there a node wants the directory that travels with it: first its manifest, by
// the ship's name, then the files that it lacks, piece by piece. Each `want` is answered by a `part` or a
// `no_part`, in order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "base/result.hpp"
#include "base/time.hpp"
#include "link/worker_doors.hpp"
#include "model/ids.hpp"

namespace paceline {

inline constexpr std::uint32_t kBytesVersion = 1;
inline constexpr std::size_t kBytesLineMax = 64 << 10;
inline constexpr std::size_t kPieceBytesMax = 256 << 10;
inline constexpr std::size_t kUnacknowledgedMax = 4 << 20;  // of all logs of a node together

struct LogName {
  JobId job;
  std::int32_t number = 0;
  friend auto operator<=>(const LogName&, const LogName&) = default;
};

// ---- node → server ----

struct BytesHello {
  std::uint32_t version = kBytesVersion;
  std::string machine;  // its own name, drawn at random; with another one its logs are others
  WallTime now;         // what its clock shows: pieces tell their times by it
  friend bool operator==(const BytesHello&, const BytesHello&) = default;
};
struct TicketShown {
  std::string ticket;
  friend bool operator==(const TicketShown&, const TicketShown&) = default;
};
struct LogAsked {
  LogName log;
  friend bool operator==(const LogAsked&, const LogAsked&) = default;
};
// Bytes of the node's own log. What lies between `from` and `offset` was removed from it.
struct PieceHead {
  LogName log;
  std::uint64_t from = 0;    // how far the server has it, once all before is taken
  std::uint64_t offset = 0;  // where the bytes begin
  std::uint32_t bytes = 0;
  WallTime at;        // when they were there at the latest
  bool anew = false;  // the log is shorter than what the server has of it: it goes on at `from`
  friend bool operator==(const PieceHead&, const PieceHead&) = default;
};
// All that the job's logs held when a `flush` came was sent before this.
struct LogsWhole {
  JobId job;
  friend bool operator==(const LogsWhole&, const LogsWhole&) = default;
};
// There is nothing behind that door, or nobody who answers.
struct NoDoor {
  std::string ticket;
  std::string message;  // one sentence
  friend bool operator==(const NoDoor&, const NoDoor&) = default;
};
// At most kPieceBytesMax of a file of the job's ship from there on.
struct ShipWanted {
  JobId job;
  std::string sha256;  // of the manifest: the ship's name
  std::uint64_t from = 0;
  friend bool operator==(const ShipWanted&, const ShipWanted&) = default;
};
// What came of it is something else.
struct ShipDamaged {
  JobId job;
  std::string sha256;
  friend bool operator==(const ShipDamaged&, const ShipDamaged&) = default;
};
using NodeLine = std::variant<BytesHello, TicketShown, LogAsked, PieceHead, LogsWhole, NoDoor,
                              ShipWanted, ShipDamaged>;

// ---- server → node ----

struct BytesWelcome {
  friend bool operator==(const BytesWelcome&, const BytesWelcome&) = default;
};
enum class LogState {
  taken,     // it goes on
  later,     // not now: ask again in a while
  unwanted,  // nobody wants it: the node may forget it
};
struct LogStanding {
  LogName log;
  std::uint64_t taken = 0;  // of the node's log the server has what lies before
  LogState state = LogState::taken;
  bool over = false;  // the job is over: nothing is ever written to its logs again
  friend bool operator==(const LogStanding&, const LogStanding&) = default;
};
// Say when all that the job's logs hold now was sent.
struct FlushAsked {
  JobId job;
  friend bool operator==(const FlushAsked&, const FlushAsked&) = default;
};
// Somebody wants what is behind that door of the worker: dial, and show the ticket.
struct DoorAsked {
  ProcessKey worker;
  std::string ticket;
  WorkerDoor door = WorkerDoor::terminal;
  friend bool operator==(const DoorAsked&, const DoorAsked&) = default;
};
struct BytesRefused {
  Error error;
  friend bool operator==(const BytesRefused&, const BytesRefused&) = default;
};
struct ShipPart {
  JobId job;
  std::string sha256;
  std::uint64_t from = 0;
  std::uint32_t bytes = 0;
  std::uint64_t of = 0;  // so many has the whole file
  friend bool operator==(const ShipPart&, const ShipPart&) = default;
};
struct NoShipPart {
  JobId job;
  std::string sha256;
  std::string message, hint;
  friend bool operator==(const NoShipPart&, const NoShipPart&) = default;
};
using ServerLine = std::variant<BytesWelcome, LogStanding, FlushAsked, DoorAsked, BytesRefused,
                                ShipPart, NoShipPart>;

// With the newline.
std::string encode(const NodeLine& line);
std::string encode(const ServerLine& line);
// Without it. Errors: invalid, too_large.
Result<NodeLine> decode_node_line(std::string_view line);
Result<ServerLine> decode_server_line(std::string_view line);

// What came over such a connection, as lines and raw bytes.
class BytesReader {
 public:
  void feed(std::string_view bytes);
  // The next line, without its newline, into `line`. False: it isn't whole yet. Errors: too_large.
  Result<bool> next_line(std::string& line);
  // The next raw bytes into `bytes`. False: not all of them are there yet.
  bool next_bytes(std::size_t count, std::string& bytes);
  // All that is left.
  std::string rest();

 private:
  std::string_view left() const { return std::string_view(kept_).substr(begin_); }
  void drop(std::size_t count);

  std::string kept_;
  std::size_t begin_ = 0;
};

}  // namespace paceline
