// One connection for bytes, as a node speaks it. Internal to bytes_uplink.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "http/client.hpp"
#include "link/bytes_uplink.hpp"

namespace paceline {

class BytesTalk {
 public:
  using Instant = std::chrono::steady_clock::time_point;
  // The answer to a wish for a terminal; nothing: it is on its way.
  using Attach = std::function<std::optional<NoDoor>(const DoorAsked& asked)>;

  // `ships`: nullptr: nothing is shipped here.
  BytesTalk(const BytesUplink::Options& options, LogSender& sender, ShipFetcher* ships,
            Attach attach, Upgraded connection);

  // Until the connection ends or `interrupted` can be read. Why it ended: no
  // sentence where it was interrupted.
  Error run(int interrupted);
  // The server said that it is one.
  [[nodiscard]] bool welcomed() const { return welcomed_; }

 private:
  void look(Instant now);
  void fill();
  bool send();
  bool receive(Instant now);
  bool take_lines(Instant now);
  void take(const ServerLine& line, Instant now);
  [[nodiscard]] std::optional<std::string> next();
  bool wait(int interrupted);
  [[nodiscard]] bool lost(std::string why);

  const BytesUplink::Options& options_;
  LogSender& sender_;
  ShipFetcher* ships_;
  Attach attach_;
  Upgraded connection_;
  BytesReader reader_;
  std::optional<ShipPart> part_;  // whose bytes are next
  std::string out_;
  std::size_t out_begin_ = 0;
  short awaits_out_ = 0;
  Instant next_look_{}, next_beat_{}, heard_;
  bool welcomed_ = false;
  Error end_;
};

}  // namespace paceline
