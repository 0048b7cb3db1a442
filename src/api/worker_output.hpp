// The door to what workers write and to their terminals, wherever those lie: read, follow, attach.
// A request is answered at once or later, on the thread of the API; nothing here blocks on
// another machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "api/signal.hpp"
#include "base/result.hpp"
#include "http/http.hpp"
#include "model/ids.hpp"

namespace paceline {

// Ranks from here on have no log that is shown.
inline constexpr std::size_t kLogRanksMax = 1024;

// A piece of one rank's log. `text` is UTF-8 (malformed bytes became U+FFFD), so that its length
// may differ from next - offset, which counts the log's bytes.
struct LogChunk {
  std::int32_t rank = 0;
  std::uint64_t offset = 0;
  std::uint64_t next = 0;
  std::string text;
};

struct LogPlace {
  JobId job;
  std::int32_t rank = 0;
  std::uint64_t offset = 0;
};

// Where a piece of a log may end.
enum class LogCut {
  anywhere,  // but never within a code point that more bytes may complete
  lines,     // after a line's end (\n or \r) only, unless one line alone fills the piece
};

class WorkerOutput {
 public:
  // Called once.
  template <class T>
  using Told = std::function<void(Result<T>)>;

  virtual ~WorkerOutput() = default;

  // The ranks of a job that have a log, each with where its last `tail_bytes` begin, moved on to
  // the start of a line; without `tail_bytes` with 0. Errors: unavailable.
  virtual void ranks(JobId job, std::optional<std::uint64_t> tail_bytes,
                     Told<std::map<std::int32_t, std::uint64_t>> told) = 0;
  // What comes after `from`, at most `bytes_max`; nothing if there is nothing (yet). Where bytes
  // were removed, one piece, however long, says how many. Errors: unavailable.
  virtual void read(const LogPlace& from, std::size_t bytes_max, LogCut cut,
                    Told<std::optional<LogChunk>> told) = 0;
  // Calls `look` whenever the job's logs may have grown, until the token is gone.
  [[nodiscard]] virtual ListenToken follow(JobId job, std::function<void()> look) = 0;
  // The terminal of a worker that has one. Errors: unavailable: nobody listens there.
  virtual void attach(const ProcessKey& worker, Told<std::shared_ptr<ServerStream>> told) = 0;
};

}  // namespace paceline
