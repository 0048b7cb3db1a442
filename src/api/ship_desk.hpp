// The directories that travel with jobs, as the server has them: its store, and which of them somebody still
// wants. A ship stays as long as a job of its user names it that is not over.
//
//   ShipDesk ships(controller, {.directory = dir + "/ships"});
//   ships.offer(uid, manifest);          // POST /v1/ships
//   ships.admit(uid, launch.shipped);    // a job that names one
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "base/result.hpp"
#include "model/ids.hpp"
#include "model/launch.hpp"
#include "scheduler/controller.hpp"
#include "ship/store.hpp"

namespace paceline {

class ShipDesk {
 public:
  // Its options but for in_use. REQUIRES: the controller has recovered, and outlives it.
  ShipDesk(Controller& controller, ShipStore::Options options);

  Result<OfferedShip> offer(std::uint32_t uid, const Manifest& manifest) {
    return store_.offer(uid, manifest);
  }
  [[nodiscard]] ShipStore& store() { return store_; }
  // The user has that ship here, whole: its sums are filled in, and it counts as used now. Errors: conflict.
  Result<void> admit(std::uint32_t uid, ShippedDirectory& shipped);

 private:
  [[nodiscard]] bool in_use(std::uint32_t uid, const std::string& name);
  void look_for_users();

  Controller& controller_;
  ShipStore store_;
  using Named = std::pair<std::uint32_t, std::string>;  // a user's ship
  std::map<JobId, Named> jobs_;                         // that are not over; of none: an empty name
  std::set<Named> named_;
  bool stale_ = true;
  std::shared_ptr<void> commits_;
};

}  // namespace paceline
