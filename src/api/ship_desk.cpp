#include "api/ship_desk.hpp"

#include <span>

#include "trust/sha256.hpp"

namespace paceline {

ShipDesk::ShipDesk(Controller& controller, ShipStore::Options options)
    : controller_(controller), store_([&] {
        options.in_use = [this](std::uint32_t uid, const std::string& name) {
          return in_use(uid, name);
        };
        return std::move(options);
      }()) {
  commits_ = controller.on_commit(
      [this](std::span<const Entry>, std::span<const JobId>) { stale_ = true; });
}

bool ShipDesk::in_use(std::uint32_t uid, const std::string& name) {
  if (std::exchange(stale_, false)) look_for_users();
  return named_.contains({uid, name});
}

// What starts a job never changes: each is read once.
void ShipDesk::look_for_users() {
  std::map<JobId, Named> jobs;
  named_.clear();
  for (const auto& key : controller_.state().queue()) {
    auto known = jobs_.extract(key.job);
    if (known.empty()) {
      const auto launch = controller_.store().launch(key.job);
      const auto uid = controller_.state().job(key.job).spec->uid;
      jobs.emplace(key.job, Named{uid, launch ? launch->shipped.ship : ""});
    } else {
      jobs.insert(std::move(known));
    }
  }
  jobs_ = std::move(jobs);
  for (const auto& [job, named] : jobs_)
    if (!named.second.empty()) named_.insert(named);
}

Result<void> ShipDesk::admit(std::uint32_t uid, ShippedDirectory& shipped) {
  if (auto there = sha256_library(); !there) return there;
  const auto manifest = store_.manifest(uid, shipped.ship);
  if (!manifest || !store_.has(uid, shipped.ship))
    return fail(ErrorCode::conflict, "The job's directory has not been shipped here whole.",
                "Submit it again: 'paceline submit --ship' sends what is missing.");
  store_.touch(uid, shipped.ship);
  shipped.files = manifest->files.size();
  shipped.bytes = manifest->bytes();
  return {};
}

}  // namespace paceline
