// What members of one job's gangs know each other by over a network, and draw the name from at which they
// meet on one host (PACELINE_GANG_SECRET): drawn from a key that never leaves the server's directory, so
// that it needs no place in the journal. A job whose owner
// set one keeps it. Jobs from before the key was made have none: members of their gangs that run would not
// know the newcomers.
//
//   auto secrets = GangSecrets::open(dir, controller.state().next_job_id());
//   secrets->add(job, launch);
#pragma once

#include <filesystem>
#include <string>

#include "base/result.hpp"
#include "model/ids.hpp"
#include "model/launch.hpp"

namespace paceline {

class GangSecrets {
 public:
  // Of DIR/gangs, which is made where it is missing: then jobs from `next` on have secrets. Errors: data,
  // forbidden, storage; unavailable: as of sha256_library().
  static Result<GangSecrets> open(const std::filesystem::path& directory, JobId next);

  // The same of a job each time.
  void add(JobId job, LaunchSpec& launch) const;

 private:
  GangSecrets(JobId first, std::string key) : first_(first), key_(std::move(key)) {}

  JobId first_;
  std::string key_;
};

}  // namespace paceline
