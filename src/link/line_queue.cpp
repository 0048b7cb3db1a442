#include "link/line_queue.hpp"

#include <utility>

namespace paceline {

bool LineQueue::push(std::string line) {
  line += '\n';
  if (bytes_ + line.size() > bytes_max_) return false;
  bytes_ += line.size();
  lines_.push_back(std::move(line));
  return true;
}

std::string_view LineQueue::next() const {
  return lines_.empty() ? std::string_view{} : std::string_view(lines_.front()).substr(sent_);
}

void LineQueue::sent(std::size_t bytes) {
  sent_ += bytes;
  bytes_ -= bytes;
  if (lines_.empty() || sent_ < lines_.front().size()) return;
  lines_.pop_front();
  sent_ = 0;
}

void LineQueue::clear() {
  lines_.clear();
  sent_ = bytes_ = 0;
}

}  // namespace paceline
