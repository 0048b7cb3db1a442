// What travels to this machine with jobs. Their directories: DIR/jobs/<job>-<ship>, each made at its job's first
// start here and its user's own. All workers of the job here share it, and its later starts here find it as they
// left it. It goes once the job is over. And the newest checkpoint, where that was written elsewhere.
//
//   JobDirectories directories(io, dir, "gpu-3", source);
//   directories.make(launch, [](Result<Arrived> arrived) { … });
//   directories.remove(job);
//
// What takes long happens on threads of its own.
#pragma once

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "base/result.hpp"
#include "files/chores.hpp"
#include "loop/timer.hpp"
#include "model/worker.hpp"
#include "ship/unpack.hpp"

namespace paceline::agent {

// Where the files of ships come from.
struct ShipSource {
  std::string store;  // the directory of a ShipStore; empty: nothing is shipped here
  // Has the store hold the ship of the job, whole, for the user of that number here. May call `done` at once,
  // later, or on another thread, with the digests of the files that came just now and were compared. Errors:
  // not_found, data: it can't be had any more; else trying again may help.
  std::function<void(JobId job, std::uint32_t uid, const std::string& ship,
                     std::function<void(Result<std::set<std::string>>)> done)>
      bring;
  // What may help itself is tried again for so long.
  std::chrono::milliseconds patience = std::chrono::minutes{1};
  std::chrono::milliseconds late = std::chrono::seconds{10};  // what takes longer is told
};

// Paths of what travelled; empty: that did not.
struct Arrived {
  std::string directory;
  std::string checkpoint;
};

class JobDirectories {
 public:
  using Made = std::function<void(Result<Arrived>)>;

  // `node`: this machine's name.
  JobDirectories(boost::asio::io_context& io, std::string directory, std::string node,
                 ShipSource source);
  ~JobDirectories();

  // Calls `made` on the loop, later; before it `late`, where it takes long. REQUIRES: something travels with
  // the launch, and its uid is that of this machine. Errors: not_found, data: the directory can't be had any
  // more; else the machine or the way to it lacks something, and trying again may help.
  void make(const WorkerLaunch& launch, Made made, std::function<void()> late);
  // The job is over. What is in its directories goes with the rights of their user, and what those don't
  // suffice for stays.
  void remove(JobId job);
  // Jobs that have one.
  [[nodiscard]] std::set<JobId> jobs() const;

 private:
  struct Making;
  struct Removals;

  [[nodiscard]] std::string path_of(const WorkerLaunch& launch) const;
  [[nodiscard]] std::shared_ptr<Making> new_making(const WorkerLaunch& launch) const;
  void begin(const std::shared_ptr<Making>& making);
  Chores& chores_of(std::uint32_t uid);
  // Once it is known whose it is to be.
  void unpack(const std::shared_ptr<Making>& making);
  static Error lost_error(const Making& making);
  void bring(const std::shared_ptr<Making>& making);
  void begin_removal(const std::string& path);
  void go_on_removing();
  void look();
  void look(const std::shared_ptr<Making>& making);
  void take_outcome(const std::shared_ptr<Making>& making, Result<void> outcome);

  std::string directory_;  // DIR/jobs
  std::string node_;
  ShipSource source_;
  Timer look_;
  std::shared_ptr<Removals> removals_;  // a chore that hangs may outlive this
  Timer remove_;
  Chores chores_, restocking_;
  std::map<std::uint32_t, Chores> users_chores_;  // in directories of their own, which may hang
  std::list<std::shared_ptr<Making>> makings_;
};

}  // namespace paceline::agent
