// A beat that all watchers of growing files share: one timer, and none while nobody watches.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "api/signal.hpp"

namespace boost::asio {
class io_context;
}

namespace paceline {

class Ticker {
 public:
  // REQUIRES: `io` outlives the ticker.
  Ticker(boost::asio::io_context& io, std::chrono::milliseconds period_ms);
  ~Ticker();
  Ticker(const Ticker&) = delete;
  Ticker& operator=(const Ticker&) = delete;

  // Calls `beat` every period, until the token is gone.
  [[nodiscard]] ListenToken listen(std::function<void()> beat);

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace paceline
