#include "link/uplink.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <utility>

#include "http/tcp_socket.hpp"

namespace paceline {
namespace {

constexpr std::string_view kTarget = "/v1/link";
constexpr std::string_view kProtocol = "paceline-link";

// Trying again soon would be answered the same.
bool is_refusal(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid:
    case ErrorCode::not_found:
    case ErrorCode::forbidden:
    case ErrorCode::conflict:
      return true;
    default:
      return false;
  }
}

Error silent(std::chrono::milliseconds span) {
  return {ErrorCode::unavailable,
          fmt::format("The server was not heard for {:g} s.", to_seconds(Duration(span))),
          "It is dialled again; look at the server and the network if that goes on.",
          Retry::may_help};
}

Error too_far_behind() {
  return {ErrorCode::unavailable, "The server takes too little of what it is told.",
          "It is dialled again.", Retry::may_help};
}

}  // namespace

Uplink::Uplink(boost::asio::io_context& io, AgentEnd& agent, Options options)
    : io_(io),
      agent_(agent),
      options_(std::move(options)),
      backoff_(options_.backoff, options_.seed),
      times_(options_.pulse),
      ticks_(io),
      pause_(io),
      release_(io),
      errand_(io) {
  agent_.on_send([this](const AgentFrame& frame) { send(frame); });
}

Uplink::~Uplink() {
  agent_.on_send({});
  if (lines_) lines_->cut();
}

void Uplink::dial() {
  errand_.run(
      [server = options_.server(errand_.interrupted())] {
        return open_upgrade(server, std::string(kTarget), std::string(kProtocol));
      },
      [this](Result<Upgraded> dialled) { take(std::move(dialled)); });
}

void Uplink::take(Result<Upgraded> dialled) {
  if (!dialled) return retry(dialled.error());
  own_address_ = tcp_address_of(dialled->stream->descriptor()).host;
  began_ = std::chrono::steady_clock::now();
  times_ = options_.pulse;
  pulse_ = {};
  overrun_ = false;
  lines_ = std::make_shared<DialledLines>(
      io_, std::move(*dialled), options_.queue_bytes_max,
      DialledLines::Owner{.heard = [this] { pulse_.heard(); },
                          .line = [this](std::string_view line) { take(line); },
                          .over = [this](const Error& why) { hang_up(why); }});
  watch();
  lines_->start();
}

void Uplink::take(std::string_view line) {
  if (line.empty()) return;
  if (!status_.connected) {
    const auto greeting = decode_greeting(line);
    return greeting ? begin(*greeting) : hang_up(greeting.error());
  }
  if (const auto why = decode_refusal(line)) return hang_up(*why);
  auto frame = decode_server_frame(line);
  if (!frame) return hang_up(no_frame("server", frame.error()));
  if (frame->session == status_.connected->session) agent_.receive(std::move(*frame));
}

void Uplink::begin(const LinkGreeting& greeting) {
  status_ = {greeting, {}};
  times_ = {.beat = greeting.beat};
  spdlog::info("Connected to the server (version {}).", greeting.version);
  if (options_.on_connected) options_.on_connected(own_address_);
  agent_.connected(greeting.session);
  watch();
}

// The agent calls this from within its own work, so nothing ends here.
void Uplink::send(const AgentFrame& frame) {
  if (!status_.connected || frame.session != status_.connected->session) return;
  if (options_.hold.count() > 0) return hold(encode(frame));
  overrun_ = overrun_ || !lines_->send(encode(frame));
}

void Uplink::hold(std::string line) {
  held_bytes_ += line.size();
  overrun_ = overrun_ || held_bytes_ > options_.queue_bytes_max;
  held_.push_back({std::chrono::steady_clock::now() + options_.hold, std::move(line)});
  if (held_.size() == 1) release_when_due();
}

void Uplink::release_when_due() {
  release_.at(held_.front().due, [this] {
    const auto now = std::chrono::steady_clock::now();
    while (!held_.empty() && held_.front().due <= now) {
      overrun_ = overrun_ || !lines_->send(held_.front().line);
      held_bytes_ -= held_.front().line.size();
      held_.pop_front();
    }
    if (!held_.empty()) release_when_due();
  });
}

void Uplink::watch() {
  ticks_.after(times_.tick(), [this] {
    tick();
    if (lines_) watch();
  });
}

void Uplink::tick() {
  const auto due = pulse_.tick();
  if (overrun_) return hang_up(too_far_behind());
  if (due == Pulse::Due::end) return hang_up(silent(times_.silence()));
  // Where it doesn't fit, the queue itself is what is said.
  if (due == Pulse::Due::beat) (void)lines_->send({});
}

void Uplink::hang_up(const Error& why) {
  const auto lines = std::exchange(lines_, nullptr);
  lines->cut();
  ticks_.cancel();
  release_.cancel();
  held_.clear();
  held_bytes_ = 0;
  if (status_.connected) {
    agent_.disconnected();
    if (std::chrono::steady_clock::now() - began_ >= options_.lasted) {
      backoff_.reset();
      told_.clear();
    }
  }
  retry(why);
}

void Uplink::retry(const Error& why) {
  status_ = {{}, why};
  tell(why);
  pause_.after(is_refusal(why.code) ? backoff_.longest() : backoff_.next(), [this] { dial(); });
}

// A server that stays away is told of once.
void Uplink::tell(const Error& why) {
  if (std::exchange(told_, why.message) == why.message) return;
  spdlog::warn("{} {}", why.message, why.hint);
}

}  // namespace paceline
