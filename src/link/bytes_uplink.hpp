// A node's end of the connections for bytes (bytes_lines.hpp): dials, sends the node's logs as they
// grow, and brings the terminals of its workers that somebody wants. It dials again for ever.
//
//   BytesUplink uplink({.dial = …, .logs = {.directory = dir, .machine = machine}, .terminal = …});
//
// It works on threads of its own, from which it calls everything in its options, and ends with the
// object.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

#include "base/result.hpp"
#include "base/time.hpp"
#include "files/fd.hpp"
#include "http/client.hpp"
#include "link/backoff.hpp"
#include "link/log_sender.hpp"
#include "link/ship_fetcher.hpp"

namespace paceline {

class BytesUplink {
 public:
  struct Options {
    // A new connection (GET /v1/bytes, upgraded). Blocks; a descriptor that `interrupted` answers can
    // be read once it shall end. Called from several threads.
    std::function<Result<Upgraded>(const std::function<int()>& interrupted)> dial;
    LogSender::Options logs;
    // As open_door() does, of the workers here.
    std::function<Result<UniqueFd>(const ProcessKey& worker, WorkerDoor door)> door;
    // Brings the directories that travel with jobs; nullptr: none do.
    std::shared_ptr<ShipFetcher> ships = {};
    std::function<WallTime()> wall;
    std::chrono::milliseconds look{200};        // at the logs
    std::chrono::milliseconds beat{15'000};     // a word at least that often
    std::chrono::milliseconds silence{45'000};  // a server that says nothing for so long is gone
    BackoffTimes backoff = {};
    std::uint64_t seed = 0;  // of the waits
  };

  explicit BytesUplink(Options options);
  ~BytesUplink();
  BytesUplink(const BytesUplink&) = delete;
  BytesUplink& operator=(const BytesUplink&) = delete;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace paceline
