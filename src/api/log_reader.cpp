#include "api/log_reader.hpp"

#include <fmt/format.h>

#include <iterator>
#include <utility>

namespace paceline {

void LogReader::look(const LogStart& start, std::function<void(Result<void>)> done) {
  output_->ranks(of_.job, of_.kind, start,
                 [self = shared_from_this(), done = std::move(done)](Result<Offsets> starts) {
                   if (!starts) return done(fail(std::move(starts.error())));
                   for (const auto& [rank, begin] : *starts) {
                     const bool wanted =
                         !self->of_.rank || *self->of_.rank == static_cast<std::uint32_t>(rank);
                     if (wanted) self->offsets_.try_emplace(rank, begin);
                   }
                   done({});
                 });
}

void LogReader::next(std::size_t bytes_max, LogCut cut, Taken taken) {
  taken_ = std::move(taken);
  bytes_max_ = bytes_max;
  cut_ = cut;
  go_on();
}

// A loop, not one call within the other: a reader of a piece asks for the next at once.
void LogReader::go_on() {
  const auto self = shared_from_this();
  if (std::exchange(going_on_, true)) return;
  while (taken_ && !asked_) {
    if (ready_.empty()) {
      ask();
    } else {
      LogChunk chunk = std::move(ready_.front());
      ready_.pop_front();
      last_ = chunk.rank;
      offsets_[chunk.rank] = chunk.next;
      answer(std::optional(std::move(chunk)));
    }
  }
  going_on_ = false;
}

void LogReader::ask() {
  LogsWanted wanted{of_.job, of_.kind, offsets_, last_, bytes_max_, cut_, pieces_};
  if (of_.rank)
    std::erase_if(wanted.from, [rank = static_cast<std::int32_t>(*of_.rank)](const auto& each) {
      return each.first != rank;
    });
  asked_ = true;
  output_->read(wanted, [self = shared_from_this()](Result<std::vector<LogChunk>> chunks) {
    self->asked_ = false;
    if (!chunks)
      self->answer(fail(std::move(chunks.error())));
    else if (chunks->empty())
      self->answer(std::optional<LogChunk>{});
    else
      self->ready_.assign(std::make_move_iterator(chunks->begin()),
                          std::make_move_iterator(chunks->end()));
    self->go_on();
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
