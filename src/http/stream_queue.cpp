#include "http/stream_queue.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "wire/json_writer.hpp"

namespace paceline {
namespace {

void append_field(std::string& out, std::string_view name, std::string_view value) {
  out.append(name).append(": ").append(value).append("\n");
}

}  // namespace

std::string event_text(const StreamEvent& event) {
  std::string out;
  out.reserve(event.event.size() + event.id.size() + event.data.size() + 32);
  if (!event.event.empty()) append_field(out, "event", event.event);
  if (!event.id.empty()) append_field(out, "id", event.id);
  std::string_view rest = event.data;
  for (;;) {
    const auto newline = rest.find('\n');
    append_field(out, "data", rest.substr(0, newline));
    if (newline == std::string_view::npos) break;
    rest.remove_prefix(newline + 1);
  }
  return out += '\n';
}

bool StreamQueue::push(const StreamEvent& event) {
  if (cut_) return true;
  auto text = event_text(event);
  if (bytes_ + text.size() > bytes_max_ && !pieces_.empty()) return false;
  append({std::move(text), event.id});
  return true;
}

void StreamQueue::push_comment() {
  if (!cut_) append({": still here\n\n", {}});
}

void StreamQueue::cut(std::string_view reason) {
  if (cut_) return;
  while (pieces_.size() > pinned_) {
    bytes_ -= pieces_.back().bytes.size();
    pieces_.pop_back();
  }
  std::string resume = last_id_;
  for (const auto& piece : pieces_) {
    if (!piece.id.empty()) resume = piece.id;
  }
  JsonWriter json;
  json.begin_object().field("reason", reason).field("resume", resume).end_object();
  append({event_text({"cut", {}, json.take()}), {}});
  cut_ = true;
}

std::vector<std::string_view> StreamQueue::pin(std::size_t count_max) {
  pinned_ = std::min(count_max, pieces_.size());
  std::vector<std::string_view> views;
  for (std::size_t i = 0; i < pinned_; ++i) views.emplace_back(pieces_[i].bytes);
  if (!views.empty()) views.front().remove_prefix(offset_);
  return views;
}

void StreamQueue::written(std::size_t bytes) {
  check(bytes <= bytes_, "no more is written than was queued");
  bytes_ -= bytes;
  offset_ += bytes;
  while (!pieces_.empty() && offset_ >= pieces_.front().bytes.size()) {
    offset_ -= pieces_.front().bytes.size();
    if (!pieces_.front().id.empty()) last_id_ = pieces_.front().id;
    pieces_.pop_front();
    pinned_ -= std::min<std::size_t>(pinned_, 1);
  }
  // What is begun must be finished; what merely stood in the same write may be dropped.
  pinned_ = offset_ > 0 ? 1 : 0;
}

void StreamQueue::append(Piece piece) {
  bytes_ += piece.bytes.size();
  pieces_.push_back(std::move(piece));
}

}  // namespace paceline
