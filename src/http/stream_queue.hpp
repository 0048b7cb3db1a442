// What waits to be written to one event stream: bounded in bytes, and able to be cut at an event's
// border so that the client knows where to go on. Pure bookkeeping; the connection does the
// writing.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "http/http.hpp"

namespace paceline {

// The bytes of one event in text/event-stream.
std::string event_text(const StreamEvent& event);

class StreamQueue {
 public:
  explicit StreamQueue(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  // False if the event would not fit; nothing is queued then.
  bool push(const StreamEvent& event);
  void push_comment();  // the heartbeat
  // Drops what is not pinned and queues the last event, `cut`. Nothing is queued after it.
  void cut(std::string_view reason);

  // The next `count_max` pieces to write; they are pinned: a cut leaves them in place.
  std::vector<std::string_view> pin(std::size_t count_max);
  // Says that the first `bytes` of what was pinned are written.
  void written(std::size_t bytes);

  [[nodiscard]] bool empty() const { return pieces_.empty(); }
  [[nodiscard]] bool has_room() const { return !cut_ && bytes_ < bytes_max_ / 2; }
  // Waiting to be written.
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] bool is_cut() const { return cut_; }

 private:
  struct Piece {
    std::string bytes;
    std::string id;
  };
  void append(Piece piece);

  std::size_t bytes_max_;
  std::deque<Piece> pieces_;
  std::size_t bytes_ = 0;   // in pieces_, without `offset_`
  std::size_t offset_ = 0;  // written of the first piece
  std::size_t pinned_ = 0;  // pieces
  std::string last_id_;     // of what was written whole
  bool cut_ = false;
};

}  // namespace paceline
