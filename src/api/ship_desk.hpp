// The directories that travel with jobs, and the copies of their checkpoints, as the server has them: its
// store, and which of them somebody still wants. A ship stays as long as a job of its user names it that is
// not over; the copy of a checkpoint goes as soon as no job does.
//
//   ShipDesk ships(io, controller, {.directory = dir + "/ships"});
//   ships.work([…](ShipStore& store) { return store.offer(uid, manifest); }, [](auto offered) { … });
//   ships.admit(uid, ship, [](Result<AdmittedShip> admitted) { … });    // a job that names one
//
// What takes long is done in a thread that has the store to itself.
#pragma once

#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "loop/errands.hpp"
#include "loop/timer.hpp"
#include "model/ids.hpp"
#include "model/launch.hpp"
#include "scheduler/controller.hpp"
#include "ship/reader.hpp"
#include "ship/store.hpp"

namespace paceline {

struct AdmittedShip {
  ShippedDirectory shipped;
  std::shared_ptr<void> hold;  // the ship stays as long as this is there
};

class ShipDesk {
 public:
  // Its options but for in_use. REQUIRES: `io` outlives it; the controller has recovered, and outlives it.
  ShipDesk(boost::asio::io_context& io, Controller& controller, ShipStore::Options options);
  ~ShipDesk();
  ShipDesk(const ShipDesk&) = delete;
  ShipDesk& operator=(const ShipDesk&) = delete;

  // Calls work(store) in the store's thread, then done(what it returned) on the loop.
  template <class Work, class Done>
  void work(Work work, Done done) {
    errands_.add([this, work = std::move(work)]() mutable { return work(store_); },
                 std::move(done));
  }
  // The user has that ship here, whole: its sums are told, and it counts as used now. Errors: conflict.
  void admit(std::uint32_t uid, const std::string& ship,
             std::function<void(Result<AdmittedShip>)> done);
  // A new job names it.
  void named(JobId job, const std::string& ship);
  // The copy of a checkpoint that this process acknowledged in its report of that number begins to come, and
  // stays for its job as long as it may still be named: one that came before and was never named goes. False:
  // the job's newest one comes already, and this isn't it.
  [[nodiscard]] bool coming(const ProcessKey& by, std::uint64_t report, const ShipOf& ship);
  // It doesn't come, after all.
  void not_coming(const ProcessKey& by, std::uint64_t report);

 private:
  class Uses;
  struct Coming {
    ProcessKey by;
    std::uint64_t report = 0;
    ShipOf ship;
    std::shared_ptr<void> hold;

    [[nodiscard]] bool is_of(const ProcessKey& process, std::uint64_t number) const {
      return by == process && report == number;
    }
    [[nodiscard]] bool is_newest_of(const Job& job) const;
    [[nodiscard]] bool may_be_named_by(const Job& job) const;
  };

  void look(std::span<const JobId> touched);
  void look_at_copies(JobId id, const Job* job);
  void look_at_coming(JobId id, const Job* job);
  void drop_coming(JobId job);
  void forget(const ShipOf& ship);
  void recall();

  Controller& controller_;
  std::shared_ptr<Uses> uses_;
  std::map<JobId, std::shared_ptr<void>> jobs_;  // that are not over, each with its hold
  std::map<JobId, std::map<ShipOf, std::shared_ptr<void>>> copies_;  // of their checkpoints
  std::map<JobId, Coming> coming_;  // of their checkpoints, too, that no job names yet
  std::vector<JobId> unknown_;      // from before this began: what they name is not read yet
  Timer recall_;
  std::shared_ptr<void> commits_;
  ShipStore store_;
  Errands errands_;  // ends before what it works on
};

// Takes the pieces in a body (ship/pieces.hpp), and says how many. Errors: those of ShipStore::take().
Result<std::string> take_ship_pieces(ShipStore& store, std::uint32_t uid, const std::string& body);

}  // namespace paceline
