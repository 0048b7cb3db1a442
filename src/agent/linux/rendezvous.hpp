// Have the workers of a gang met? Those that train together open a port that their gang was given,
// MASTER_PORT above all. Where nobody does, a plain script most likely trains as often as there are
// workers.
//
// Not all of them leave it open, so those that have met may say so.
//
//   RendezvousWatch watch(order.port, ports_needed(order.world_size), patience);
//   if (const auto holds = watch.look(*ports.at(now), now)) tell(WorkerWarning{key, …, *holds});
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <string_view>

namespace paceline::agent {

// TCP ports of this machine that a socket is bound to, from the text of /proc/net/tcp or tcp6; lines
// that can't be read are left out.
std::set<std::uint32_t> parse_local_ports(std::string_view text);

// Reads them at most once a second, whoever asks.
class PortsInUse {
 public:
  using Steady = std::chrono::steady_clock;
  // Nothing: they can't be told, or there are very many.
  const std::optional<std::set<std::uint32_t>>& at(Steady::time_point now);

 private:
  std::optional<std::set<std::uint32_t>> ports_;
  std::optional<Steady::time_point> read_at_;
};

class RendezvousWatch {
 public:
  using Steady = std::chrono::steady_clock;
  // Of `count` ports from `first` on. `patience`: from the first look on.
  RendezvousWatch(std::uint32_t first, std::uint32_t count, Steady::duration patience)
      : first_(first), end_(first + count), patience_(patience) {}

  // They said so themselves. As look() answers.
  std::optional<bool> met();
  // Is it time to look? Less often once it was told.
  [[nodiscard]] bool due(Steady::time_point now) const { return !done_ && now >= next_look_; }
  // True: nobody opened one of them so far; false: somebody did after that was told. Nothing: there
  // is nothing new to tell.
  std::optional<bool> look(const std::set<std::uint32_t>& in_use, Steady::time_point now);

 private:
  std::uint32_t first_, end_;
  Steady::duration patience_;
  std::optional<Steady::time_point> since_;
  Steady::time_point next_look_{};
  bool told_ = false, done_ = false;
};

}  // namespace paceline::agent
