// Where in a job's logs, or its timelines, somebody is, and the next piece from there. Whoever
// holds the logs says which rank's comes next (api/worker_output.hpp).
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "api/worker_output.hpp"

namespace paceline {

class LogReader : public std::enable_shared_from_this<LogReader> {
 public:
  using Offsets = std::map<std::int32_t, std::uint64_t>;
  using Taken = std::function<void(Result<std::optional<LogChunk>>)>;

  struct Of {
    JobId job = {};
    LogKind kind = LogKind::log;
    std::optional<std::uint32_t> rank = {};  // that one alone
  };

  // From `offsets` on.
  LogReader(std::shared_ptr<WorkerOutput> output, const Of& of, Offsets offsets,
            LogPieces pieces = LogPieces::joined)
      : output_(std::move(output)), of_(of), pieces_(pieces), offsets_(std::move(offsets)) {}

  // Finds logs that it doesn't know yet, to be begun where `start` says; then calls `done`.
  void look(const LogStart& start, std::function<void(Result<void>)> done);
  [[nodiscard]] bool knows_any() const { return !offsets_.empty(); }
  // Hands out the next piece; nothing: there is none now. Called again only once it was answered.
  void next(std::size_t bytes_max, LogCut cut, Taken taken);

  // Of all that was handed out: "0:123,1:55".
  [[nodiscard]] std::string position() const;

 private:
  void go_on();
  void ask();
  void answer(Result<std::optional<LogChunk>> chunk);

  std::shared_ptr<WorkerOutput> output_;
  Of of_;
  LogPieces pieces_;
  Offsets offsets_;
  std::int32_t last_ = -1;      // whose turn it was
  std::deque<LogChunk> ready_;  // read and not handed out yet

  // ---- while somebody waits for a piece ----
  Taken taken_;
  std::size_t bytes_max_ = 0;
  LogCut cut_ = LogCut::anywhere;
  bool asked_ = false;  // and not answered
  bool going_on_ = false;
};

}  // namespace paceline
