// The server's end of the connections for bytes (bytes_lines.hpp): takes the logs of the nodes that
// dial in, and reaches what is behind the doors of their workers (worker_doors.hpp).
//
//   BytesDoor door(io, {.directory = dir, .right = …, .wall = …});
//   exchange->tunnel("paceline-bytes", door.open(node));
//   door.attach("gpu-3", worker, WorkerDoor::terminal, [](Result<std::shared_ptr<ServerStream>> terminal) { … });
//
// A node has one connection that its logs come by: a newer one takes the place of an older one. While
// the server's disk is full what came is kept back, and so is the node, by the connection alone.
#pragma once

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "base/time.hpp"
#include "http/transport.hpp"
#include "link/agent_door.hpp"
#include "link/bytes_lines.hpp"
#include "link/log_intake.hpp"

namespace paceline {

class Errands;

// What a node may do with a log of that name.
struct LogRight {
  LogState state = LogState::unwanted;  // `later`: somebody else writes it now
  std::uint32_t uid = 0;                // whose the log is
  bool over = false;                    // the job is
};

// What travels with a job, its directory and the copy of its checkpoint: whose it is in the server's store, and
// the names there.
struct ShipRight {
  std::uint32_t uid = 0;
  std::vector<std::string> ships;
};

class BytesDoor {
 public:
  struct Options {
    LogIntake::Options intake;
    std::function<LogRight(std::string_view node, const LogName& log)> right;
    // What a node may have of a job's directory. Errors: forbidden: the job has no business there;
    // not_found: nothing travels with it. Empty: nothing ever does.
    std::function<Result<ShipRight>(std::string_view node, JobId job)> ship = {};
    std::filesystem::path ships = {};  // the store that they lie in
    Errands* reading =
        nullptr;  // of them. REQUIRES: it is there where `ship` is, and outlives the door
    std::function<WallTime()> wall;
    std::chrono::milliseconds beat{15'000};     // a word at least that often
    std::chrono::milliseconds silence{45'000};  // whoever says nothing for so long is gone
    std::chrono::milliseconds attach_within{5'000};
    std::chrono::milliseconds retry{1'000};       // of what the disk refuses
    std::chrono::milliseconds last_words{1'000};  // to read why its connection ends
  };
  using Attached = std::function<void(Result<std::shared_ptr<ServerStream>>)>;
  using Flushed = std::function<void(bool whole)>;

  // REQUIRES: `io` outlives it.
  BytesDoor(boost::asio::io_context& io, Options options);
  ~BytesDoor();
  BytesDoor(const BytesDoor&) = delete;
  BytesDoor& operator=(const BytesDoor&) = delete;

  // The far end of a new connection of this node.
  std::shared_ptr<ServerStream> open(const KnownNode& node);
  // What is behind a door of a worker of that node, at once or later. Errors: unavailable.
  void attach(std::string_view node, const ProcessKey& worker, WorkerDoor door, Attached attached);
  // Tells true once all that the job's logs hold on that node now has come; false: the node is not
  // connected (any more).
  void flush(std::string_view node, JobId job, Flushed flushed);
  // Its connections end now.
  void cut(std::string_view node);

  // Is a connection of that node open that its logs come by?
  [[nodiscard]] bool is_open(std::string_view node) const;
  LogIntake& intake();

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace paceline
