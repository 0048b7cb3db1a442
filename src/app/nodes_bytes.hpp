// What the server has of other nodes' workers beside words: their logs, which come into its directory,
// and their terminals.
//
//   NodesBytes bytes(io, clock, *controller, machine->host(), {.directory = dir, .own_node = "box"});
//   api_options.output = bytes.output();
#pragma once

#include <boost/asio/io_context.hpp>
#include <memory>
#include <string>

#include "agent/linux/host.hpp"
#include "api/log_places.hpp"
#include "api/worker_output.hpp"
#include "clock/clock.hpp"
#include "link/bytes_door.hpp"
#include "loop/errands.hpp"
#include "loop/timer.hpp"
#include "scheduler/controller.hpp"

namespace paceline {

class NodesBytes {
 public:
  struct Options {
    std::string directory;  // the server's
    std::string own_node;   // its machine's
    std::string ships;      // the directory of its ShipStore
  };

  // REQUIRES: everything outlives it; the controller has recovered.
  NodesBytes(boost::asio::io_context& io, Clock& clock, Controller& controller,
             agent::LinuxHost& host, const Options& options);

  // Of this machine's workers, too.
  [[nodiscard]] std::shared_ptr<WorkerOutput> output() const { return output_; }
  [[nodiscard]] BytesDoor& door() { return door_; }

 private:
  [[nodiscard]] Result<ShipRight> ship_of(std::string_view node, JobId job) const;
  void hold_logs();

  Controller& controller_;
  agent::LinuxHost& host_;
  LogPlaces places_;
  Errands reading_;
  BytesDoor door_;
  std::shared_ptr<WorkerOutput> output_;
  Timer look_;
};

}  // namespace paceline
