#include "api/log_reader.hpp"

#include <fmt/format.h>

#include <utility>

namespace paceline {

void LogReader::look(std::optional<std::uint64_t> tail_bytes,
                     std::function<void(Result<void>)> done) {
  output_->ranks(job_, tail_bytes,
                 [self = shared_from_this(), done = std::move(done)](Result<Offsets> starts) {
                   if (!starts) return done(fail(std::move(starts.error())));
                   for (const auto& [rank, start] : *starts) {
                     const bool wanted =
                         !self->rank_ || *self->rank_ == static_cast<std::uint32_t>(rank);
                     if (wanted) self->offsets_.try_emplace(rank, start);
                   }
                   done({});
                 });
}

void LogReader::next(std::size_t bytes_max, LogCut cut, Taken taken) {
  taken_ = std::move(taken);
  bytes_max_ = bytes_max;
  cut_ = cut;
  left_ = offsets_.size();
  go_round();
}

// A loop, not one call within the other: a taker of a piece asks for the next at once.
void LogReader::go_round() {
  const auto self = shared_from_this();
  if (std::exchange(going_round_, true)) return;
  while (taken_ && !asked_) {
    if (left_ == 0) {
      answer(std::optional<LogChunk>{});
    } else {
      ask_next_rank();
    }
  }
  going_round_ = false;
}

void LogReader::ask_next_rank() {
  --left_;
  auto turn = offsets_.upper_bound(last_);
  if (turn == offsets_.end()) turn = offsets_.begin();
  last_ = turn->first;
  if (rank_ && *rank_ != static_cast<std::uint32_t>(last_)) return;
  asked_ = true;
  output_->read({job_, last_, turn->second}, bytes_max_, cut_,
                [self = shared_from_this()](Result<std::optional<LogChunk>> chunk) {
                  self->asked_ = false;
                  if (chunk && *chunk) self->offsets_[(*chunk)->rank] = (*chunk)->next;
                  if (!chunk || *chunk) self->answer(std::move(chunk));
                  self->go_round();
                });
}

void LogReader::answer(Result<std::optional<LogChunk>> chunk) {
  const auto taken = std::exchange(taken_, {});
  taken(std::move(chunk));
}

std::string LogReader::position() const {
  std::string text;
  for (const auto& [rank, offset] : offsets_) {
    text += fmt::format("{}{}:{}", text.empty() ? "" : ",", rank, offset);
  }
  return text;
}

}  // namespace paceline
