// Sends checkpoints that lie on this machine alone to its server, as they are asked for (KeepCheckpoint): first
// what each holds, then what of that the server lacks. It works on threads of its own, one for each user, and
// with that user's rights.
//
//   CheckpointSender sender({.server = …});
//   host_options.keep = [&](WantedCheckpoint wanted) { sender.send(std::move(wanted)); };
//
// Of a job only the newest is sent that nobody has begun with. What the server or the way to it refuses is tried
// again until a newer one is asked for.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "http/client.hpp"
#include "model/worker.hpp"

namespace paceline {

class CheckpointSender {
 public:
  struct Options {
    // The way to the server now; called from several threads. Ends its waits once `interrupted` can be read.
    std::function<ServerAddress(std::function<int()> interrupted)> server;
    std::chrono::milliseconds again_first{1'000}, again_max{60'000};  // between two tries
  };
  explicit CheckpointSender(Options options);
  ~CheckpointSender();
  CheckpointSender(const CheckpointSender&) = delete;
  CheckpointSender& operator=(const CheckpointSender&) = delete;

  // One that is being sent already is not sent twice. REQUIRES: its uid is this machine's.
  void send(WantedCheckpoint wanted);

 private:
  struct State;

  std::shared_ptr<State> state_;
};

}  // namespace paceline
