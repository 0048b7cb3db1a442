// A claim that is not what was written: kept for people to look at, believed in nothing. What it
// stands for is known by the claim's name, by whether its lock is held, and by the marker, which
// follows from the name alone (marks.hpp). Its worker counts as alive as long as its supervisor
// lives or a process carries its marker, so that its slots are given to nobody. So does one whose
// claim was removed and whose supervisor is dead.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <csignal>
#include <memory>
#include <optional>
#include <string>

#include "agent/linux/marks.hpp"
#include "agent/linux/remains.hpp"
#include "agent/linux/worker.hpp"

namespace paceline::agent {

class SetAsideWorker : public std::enable_shared_from_this<SetAsideWorker> {
 public:
  SetAsideWorker(WorkerContext& context, ClaimFile claim, const Marks& marks, CgroupPlan groups);

  // Tells the end as soon as nothing is left of the worker: now, or later.
  void watch();
  void leave();
  // For the owner who wants the worker's end: both reach what the kernel shows to be the claim's
  // supervisor, and nobody else.
  void give_notice() const { signal_supervisors(SIGTERM); }
  void kill() const { signal_supervisors(SIGKILL); }

  [[nodiscard]] const ProcessKey& key() const { return claim_.key(); }
  [[nodiscard]] const std::optional<WorkerGone>& gone() const { return gone_; }
  // One sentence about it for people.
  [[nodiscard]] std::string problem() const;

 private:
  [[nodiscard]] bool lock_is_free();
  [[nodiscard]] bool is_over();
  void signal_supervisors(int signal) const;
  void end();

  WorkerContext& context_;
  ClaimFile claim_;
  std::string path_;
  Remains remains_;        // by the marks of today
  Remains plain_remains_;  // by those of the format without digests: never killed
  boost::asio::steady_timer timer_;
  std::optional<WorkerGone> gone_;
};

}  // namespace paceline::agent
