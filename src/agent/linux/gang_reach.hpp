// Do the nodes of a gang reach each other? Each agent has a door: a port at the address that gangs are
// told, where it says who it is and does nothing else. Before a worker starts, its agent goes to the doors
// of those nodes that it was told (WorkerLaunch::peers).
//
//   ReachDoor door(io);
//   door.open("10.0.0.2", blocks);                // its port and nonce stand in the node's description
//   ReachCheck check(io, "gpu-2");
//   check.ask(gang, launch.peers, [](const std::string& problem) { if (problem.empty()) … });
//
// A door lies among the ports that gangs have, so that whatever lets those through lets through to it.
#pragma once

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "agent/linux/ports.hpp"
#include "agent/linux/shm.hpp"
#include "base/result.hpp"
#include "model/worker.hpp"

namespace paceline::agent {

// Says its line to whoever comes and closes; it reads nothing and keeps nobody.
class ReachDoor {
 public:
  // REQUIRES: `io` outlives it; one thread runs `io` and makes every call.
  explicit ReachDoor(boost::asio::io_context& io);
  ~ReachDoor();
  ReachDoor(const ReachDoor&) = delete;
  ReachDoor& operator=(const ReachDoor&) = delete;

  // In place of where it was open before; nothing where that is the same. At an address that isn't the
  // machine's own (a name, one that a router translates) it listens at all of them.
  // Errors: those of PortBlocks and listen_tcp.
  Result<void> open(const std::string& address, const PortBlocks& blocks);
  void close();

  [[nodiscard]] std::uint32_t port() const { return port_; }         // 0: it is closed
  [[nodiscard]] const std::string& nonce() const { return nonce_; }  // no other agent has it

 private:
  struct Impl;
  boost::asio::io_context& io_;
  const std::string nonce_;
  std::string address_;
  std::uint32_t port_ = 0;
  Ports held_;
  std::shared_ptr<Impl> impl_;
};

// What a door of that nonce says.
std::string reach_line(const std::string& nonce);

struct ReachTimes {
  std::chrono::milliseconds limit = std::chrono::seconds{3};  // of all tries for one gang together
  std::chrono::milliseconds pause{200};                       // before a peer is tried again
  std::chrono::milliseconds silence{700};                     // of a peer that lets it in
  std::chrono::milliseconds kept = std::chrono::seconds{10};  // an outcome, for further workers
};

class ReachCheck {
 public:
  // Empty: all are reached. Else a sentence with both ends' names, and what to do.
  using Told = std::function<void(const std::string& problem)>;

  // REQUIRES: as for ReachDoor. `node`: what this one is called.
  ReachCheck(boost::asio::io_context& io, std::string node, ReachTimes times = {});
  // Nobody is told any more.
  ~ReachCheck();
  ReachCheck(const ReachCheck&) = delete;
  ReachCheck& operator=(const ReachCheck&) = delete;

  // Told from the loop, never from within the call. Workers of one gang that ask for the same peers
  // share one try.
  void ask(const GangKey& gang, const std::vector<GangPeer>& peers, Told told);

 private:
  struct Round;
  class Try;
  void forget_old();

  boost::asio::io_context& io_;
  std::string node_;
  ReachTimes times_;
  std::vector<std::shared_ptr<Round>> rounds_;
};

}  // namespace paceline::agent
