// The door to what workers write, logs and timelines, and to their terminals, wherever those lie:
// read, follow, attach. A request is answered at once or later, on the thread of the API; nothing
// here blocks on another machine.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/signal.hpp"
#include "base/result.hpp"
#include "base/time.hpp"
#include "files/log_names.hpp"
#include "http/http.hpp"
#include "model/ids.hpp"

namespace paceline {

// What is told of one worker's stacks, and how long that may take.
inline constexpr std::size_t kStacksBytesMax = 1 << 20;
inline constexpr std::chrono::milliseconds kStacksWithin{20'000};

// Ranks from here on have no log that is shown.
inline constexpr std::size_t kLogRanksMax = 1024;

// A piece of one rank's log. `text` is UTF-8 (malformed bytes became U+FFFD), so that its length
// may differ from next - offset, which counts the log's bytes.
struct LogChunk {
  std::int32_t rank = 0;
  std::uint64_t offset = 0;
  std::uint64_t next = 0;
  std::string text;
  std::optional<WallTime> at = {};  // when it was there at the latest; nothing: not known
};

// Where each log is begun with: the later of both, where both are given.
struct LogStart {
  std::optional<std::uint64_t> tail_bytes;  // its last bytes
  std::optional<WallTime> since;            // what was written since then, as far as that is known
};

// Where a piece of a log may end.
enum class LogCut {
  anywhere,  // but never within a code point that more bytes may complete
  lines,     // after a line's end (\n or \r) only, unless one line alone fills the piece
};

// How long a piece of a log goes on.
enum class LogPieces {
  joined,  // while no other log has an earlier line
  timed,   // no further than its time is right: some tenths of a second of writing
};

struct LogsWanted {
  JobId job = {};
  LogKind kind = LogKind::log;
  std::map<std::int32_t, std::uint64_t> from = {};  // by rank: what comes after these offsets
  std::int32_t turn =
      -1;  // the rank whose piece was the last: where nothing else tells, others go first
  std::size_t bytes_max = 0;  // together; where whole lines are wanted, what begins within these
  LogCut cut = LogCut::anywhere;
  LogPieces pieces = LogPieces::joined;
};

class WorkerOutput {
 public:
  // Called once.
  template <class T>
  using Told = std::function<void(Result<T>)>;

  virtual ~WorkerOutput() = default;

  // The ranks of a job that have a log, or a timeline, each with the offset where that begins,
  // moved on to the start of a line; 0 where `start` says nothing. Errors: unavailable.
  virtual void ranks(JobId job, LogKind kind, const LogStart& start,
                     Told<std::map<std::int32_t, std::uint64_t>> told) = 0;
  // The next pieces of these logs, whole lines if they can be, in the order in which they were
  // written as far as that is known (files/log_times.hpp); none if there are none (yet). Logs of
  // which it isn't known come first and take turns. Where bytes were removed, one piece, however
  // long, says how many. Errors: unavailable.
  virtual void read(const LogsWanted& wanted, Told<std::vector<LogChunk>> told) = 0;
  // Calls `look` whenever the job's logs may have grown, until the token is gone.
  [[nodiscard]] virtual ListenToken follow(JobId job, std::function<void()> look) = 0;
  // Calls `done` once all that the workers of a job which is over have written is there, as far as it
  // can come now; after `within` at the latest.
  virtual void gather(JobId job, std::chrono::milliseconds within, std::function<void()> done) = 0;
  // The terminal of a worker that has one. Errors: unavailable: nobody listens there.
  virtual void attach(const ProcessKey& worker, Told<std::shared_ptr<ServerStream>> told) = 0;
  // What the threads of a worker are in now, as text for people. Errors: unavailable.
  virtual void stacks(const ProcessKey& worker, Told<std::string> told) = 0;
};

}  // namespace paceline
