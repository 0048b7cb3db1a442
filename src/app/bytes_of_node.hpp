// How a node's logs and terminals reach its server: the options of a BytesUplink (link/bytes_uplink.hpp),
// from what an agent keeps in its directory.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "clock/clock.hpp"
#include "link/bytes_uplink.hpp"

namespace paceline {

struct BytesOfNode {
  std::string directory;  // the agent's
  std::string machine;    // NodeSpec::machine
  // Nothing of the job runs here any more, nor will: its directories go. Called from another thread.
  std::function<void(JobId job)> over = [](JobId) {};
  // Brings directories that travel here.
  std::shared_ptr<ShipFetcher> ships = {};
  // The way to the server now; called from several threads.
  std::function<ServerAddress(std::function<int()> interrupted)> server;
};

// REQUIRES: `clock` outlives the uplink.
BytesUplink::Options uplink_options(BytesOfNode node, Clock& clock);

}  // namespace paceline
