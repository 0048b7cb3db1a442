// Where in a job's logs somebody is, and the next piece from there: the ranks take turns, so that a
// talkative one does not drown the others.
#pragma once

#include <cstdint>
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

  // From `offsets` on; with `rank`, that one alone.
  LogReader(std::shared_ptr<WorkerOutput> output, JobId job, std::optional<std::uint32_t> rank,
            Offsets offsets)
      : output_(std::move(output)), job_(job), rank_(rank), offsets_(std::move(offsets)) {}

  // Finds logs that it doesn't know yet and begins them with their last `tail_bytes`, if given; then
  // calls `done`.
  void look(std::optional<std::uint64_t> tail_bytes, std::function<void(Result<void>)> done);
  // Hands out the next piece; nothing: there is none now. Called again only once it was answered.
  void next(std::size_t bytes_max, LogCut cut, Taken taken);

  // Of all that was handed out: "0:123,1:55".
  [[nodiscard]] std::string position() const;

 private:
  void go_round();
  void ask_next_rank();
  void answer(Result<std::optional<LogChunk>> chunk);

  std::shared_ptr<WorkerOutput> output_;
  JobId job_;
  std::optional<std::uint32_t> rank_;
  Offsets offsets_;
  std::int32_t last_ = -1;  // whose turn it was

  // ---- while somebody waits for a piece ----
  Taken taken_;
  std::size_t bytes_max_ = 0;
  LogCut cut_ = LogCut::anywhere;
  std::size_t left_ = 0;  // ranks that weren't asked in this round
  bool asked_ = false;    // one is, and hasn't answered
  bool going_round_ = false;
};

}  // namespace paceline
