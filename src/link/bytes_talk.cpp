#include "link/bytes_talk.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace paceline {
namespace {

constexpr std::size_t kReadAheadMax = 512 << 10;  // of what the connection takes
constexpr std::size_t kReceiveBytes = 16 << 10;

using Instant = BytesTalk::Instant;

Instant steady_now() { return std::chrono::steady_clock::now(); }

}  // namespace

BytesTalk::BytesTalk(const BytesUplink::Options& options, LogSender& sender, ShipFetcher* ships,
                     Attach attach, Upgraded connection)
    : options_(options),
      sender_(sender),
      ships_(ships),
      attach_(std::move(attach)),
      connection_(std::move(connection)),
      out_(sender.begin(options.wall())),
      heard_(steady_now()) {
  reader_.feed(connection_.first);
  if (ships_ != nullptr) ships_->begin();
}

bool BytesTalk::lost(std::string why) {
  end_ = {ErrorCode::unavailable, std::move(why), "", Retry::may_help};
  return false;
}

Error BytesTalk::run(int interrupted) {
  auto now = steady_now();
  while (take_lines(now)) {
    now = steady_now();
    look(now);
    fill();
    if (!send() || !receive(now)) break;
    if (now - heard_ >= options_.silence && !lost("The server is silent.")) break;
    if (!wait(interrupted)) break;
  }
  return end_;
}

void BytesTalk::look(Instant now) {
  if (ships_ != nullptr) ships_->look(now);
  if (now >= next_look_) {
    sender_.look(now);
    next_look_ = now + options_.look;
  }
  if (now >= next_beat_) {
    if (out_.size() == out_begin_) out_ += '\n';
    next_beat_ = now + options_.beat;
  }
}

// What a start waits for goes before logs.
std::optional<std::string> BytesTalk::next() {
  if (welcomed_ && ships_ != nullptr)
    if (auto line = ships_->next()) return line;
  return sender_.next();
}

void BytesTalk::fill() {
  while (out_.size() - out_begin_ < kReadAheadMax) {
    const auto bytes = next();
    if (!bytes) return;
    if (out_begin_ > 0) out_.erase(0, std::exchange(out_begin_, 0));
    out_ += *bytes;
  }
}

bool BytesTalk::send() {
  awaits_out_ = 0;
  while (out_begin_ < out_.size() && awaits_out_ == 0) {
    const auto tried = connection_.stream->send(out_.data() + out_begin_, out_.size() - out_begin_);
    out_begin_ += tried.bytes;
    awaits_out_ = tried.awaits;
    if (tried.bytes == 0 && tried.awaits == 0)
      return lost(fmt::format("The connection broke: {}.", std::strerror(tried.reason)));
  }
  if (out_begin_ == out_.size()) {
    out_.clear();
    out_begin_ = 0;
  }
  return true;
}

bool BytesTalk::receive(Instant now) {
  std::string bytes(kReceiveBytes, '\0');
  for (;;) {
    const auto tried = connection_.stream->receive(bytes.data(), bytes.size());
    if (tried.awaits != 0) return true;
    if (tried.bytes == 0) {
      static_cast<void>(take_lines(now) && lost("The server ended the connection."));
      return false;
    }
    heard_ = now;
    reader_.feed({bytes.data(), tried.bytes});
    if (!take_lines(now)) return false;
  }
}

bool BytesTalk::take_lines(Instant now) {
  std::string line;
  for (;;) {
    if (part_) {
      std::string bytes;
      if (!reader_.next_bytes(part_->bytes, bytes)) return true;
      if (ships_ != nullptr) ships_->take(*part_, bytes, now);
      part_.reset();
    }
    auto found = reader_.next_line(line);
    if (!found) end_ = std::move(found.error());
    if (!found || !*found) return found.has_value();
    if (line.empty()) continue;
    auto read = decode_server_line(line);
    if (!read) end_ = std::move(read.error());
    if (!read) return false;
    if (auto* refused = std::get_if<BytesRefused>(&*read)) {
      end_ = std::move(refused->error);
      return false;
    }
    take(*read, now);
  }
}

void BytesTalk::take(const ServerLine& line, Instant now) {
  if (std::holds_alternative<BytesWelcome>(line)) welcomed_ = true;
  if (const auto* standing = std::get_if<LogStanding>(&line)) sender_.take(*standing, now);
  if (const auto* flush = std::get_if<FlushAsked>(&line)) sender_.take(*flush, now);
  if (const auto* part = std::get_if<ShipPart>(&line)) part_ = *part;
  if (const auto* none = std::get_if<NoShipPart>(&line); none && ships_ != nullptr)
    ships_->take(*none, now);
  if (const auto* asked = std::get_if<DoorAsked>(&line))
    if (const auto none = attach_(*asked)) out_ += encode(*none);
}

// False: it is interrupted.
bool BytesTalk::wait(int interrupted) {
  const auto until = std::min(next_look_, next_beat_);
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - steady_now()).count();
  const auto events = static_cast<short>(POLLIN | awaits_out_);
  std::array<pollfd, 3> waits{{{connection_.stream->descriptor(), events, 0},
                               {interrupted, POLLIN, 0},
                               {ships_ == nullptr ? -1 : ships_->wakes(), POLLIN, 0}}};
  ::poll(waits.data(), waits.size(), static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000)));
  return waits[1].revents == 0;
}

}  // namespace paceline
