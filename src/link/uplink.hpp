// An agent's way to its server: dials, carries frames between the connection and the AgentEnd, and
// dials again for ever. The agent goes on with what it was asked, connected or not.
//
//   Uplink uplink(io, agent, {.server = [&](auto interrupted) { return address(interrupted); }});
//   uplink.start();
//
// It dials in a thread of its own; everything else happens on the loop. A try that fails is followed
// by a wait (backoff.hpp); what the server refuses, by the longest. A connection that lasted makes the
// next wait the first again.
#pragma once

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "http/client.hpp"
#include "joining/pulse.hpp"
#include "link/backoff.hpp"
#include "link/dialled_lines.hpp"
#include "link/link_words.hpp"
#include "loop/errand.hpp"
#include "loop/timer.hpp"
#include "wire/agent_link.hpp"

namespace paceline {

struct UplinkStatus {
  std::optional<LinkGreeting> connected;  // nothing: it is not
  std::optional<Error> problem;           // of the newest try that failed; nothing once connected
};

class Uplink {
 public:
  struct Options {
    // How the server is reached now; asked on the loop, for each try. Its waits shall end once the
    // descriptor `interrupted` can be read.
    std::function<ServerAddress(std::function<int()> interrupted)> server;
    // Told before the agent is, with this machine's address on the way to the server. May be empty.
    std::function<void(const std::string& own_address)> on_connected = {};
    PulseTimes pulse = {};  // until the server says another beat
    BackoffTimes backoff = {};
    std::chrono::milliseconds lasted{15'000};
    std::uint64_t seed = 0;  // of the waits
    std::size_t queue_bytes_max = kLineQueueBytesMax;
    // What the agent says leaves so much later, and never if it is killed in between.
    std::chrono::milliseconds hold{0};
  };

  // REQUIRES: `io` and `agent` outlive it; one thread runs `io` and makes every call.
  Uplink(boost::asio::io_context& io, AgentEnd& agent, Options options);
  Uplink(const Uplink&) = delete;
  Uplink& operator=(const Uplink&) = delete;
  // The connection ends at once.
  ~Uplink();

  // Called once.
  void start() { dial(); }
  [[nodiscard]] const UplinkStatus& status() const { return status_; }

 private:
  using Instant = std::chrono::steady_clock::time_point;

  void dial();
  void take(Result<Upgraded> dialled);
  void take(std::string_view line);
  void begin(const LinkGreeting& greeting);
  void send(const AgentFrame& frame);
  void hold(std::string line);
  void release_when_due();
  void watch();
  void tick();
  void hang_up(const Error& why);
  void retry(const Error& why);
  void tell(const Error& why);

  boost::asio::io_context& io_;
  AgentEnd& agent_;
  Options options_;
  Backoff backoff_;
  UplinkStatus status_;
  std::string told_;  // the problem that the log has
  std::shared_ptr<DialledLines> lines_;
  std::string own_address_;
  PulseTimes times_;
  Pulse pulse_;
  Instant began_{};
  bool overrun_ = false;  // more waits for the server than may
  struct Held {
    Instant due;
    std::string line;
  };
  std::deque<Held> held_;  // of this session, in order
  std::size_t held_bytes_ = 0;
  Timer ticks_, pause_, release_;
  Errand errand_;  // ends before what it works on
};

}  // namespace paceline
