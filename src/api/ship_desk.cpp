#include "api/ship_desk.hpp"

#include <chrono>
#include <mutex>

#include "trust/sha256.hpp"

namespace paceline {
namespace {

constexpr std::size_t kRecalledAtOnce = 64;

Result<AdmittedShip> admitted(ShipStore& store, std::uint32_t uid, const std::string& ship) {
  const auto manifest = store.manifest(uid, ship);
  if (!manifest || !store.has(uid, *manifest))
    return fail(ErrorCode::conflict, "The job's directory has not been shipped here whole.",
                "Submit it again: 'paceline submit --ship' sends what is missing.");
  store.touch(uid, ship);
  return AdmittedShip{{ship, manifest->files.size(), manifest->bytes()}, {}};
}

}  // namespace

// Counted on the loop, asked by the store's thread.
class ShipDesk::Uses {
 public:
  static std::shared_ptr<void> hold(const std::shared_ptr<Uses>& self, const ShipOf& ship) {
    const std::lock_guard held(self->mutex_);
    ++self->ships_[ship];
    return {nullptr, [self, ship](void*) { self->drop(ship); }};
  }
  // Until it is known what all jobs name, they name everything.
  void know_all(bool known) {
    const std::lock_guard held(mutex_);
    know_all_ = known;
  }
  [[nodiscard]] bool contains(const ShipOf& ship) {
    const std::lock_guard held(mutex_);
    return !know_all_ || ships_.contains(ship);
  }

 private:
  void drop(const ShipOf& ship) {
    const std::lock_guard held(mutex_);
    const auto found = ships_.find(ship);
    if (--found->second == 0) ships_.erase(found);
  }

  std::mutex mutex_;
  std::map<ShipOf, std::size_t> ships_;  // how many hold each
  bool know_all_ = true;
};

ShipDesk::ShipDesk(boost::asio::io_context& io, Controller& controller, ShipStore::Options options)
    : controller_(controller),
      uses_(std::make_shared<Uses>()),
      recall_(io),
      store_([&] {
        options.in_use = [uses = uses_](std::uint32_t uid, const std::string& name) {
          return uses->contains({uid, name});
        };
        return options;
      }()),
      errands_(io) {
  commits_ = controller.on_commit(
      [this](std::span<const Entry>, std::span<const JobId> touched) { look(touched); });
  std::error_code error;
  if (!std::filesystem::exists(options.directory, error)) return;
  for (const auto& key : controller.state().queue()) {
    unknown_.push_back(key.job);
    look_at_copies(key.job, &controller.state().job(key.job));
  }
  recall();
}

ShipDesk::~ShipDesk() = default;

void ShipDesk::look(std::span<const JobId> touched) {
  for (const JobId id : touched) {
    const Job* job = controller_.state().find_job(id);
    if (job != nullptr && is_over(job->state)) job = nullptr;
    if (job == nullptr) jobs_.erase(id);
    look_at_copies(id, job);
    look_at_coming(id, job);
  }
}

// Those that it names no more go at once: each may be as large as a model.
void ShipDesk::look_at_copies(JobId id, const Job* job) {
  std::map<ShipOf, std::shared_ptr<void>> named;
  if (job != nullptr)
    for (const auto* checkpoint : {&job->checkpoint, &job->kept})
      if (*checkpoint && (*checkpoint)->place && !(*checkpoint)->place->ship.empty())
        named.emplace(ShipOf{job->spec->uid, (*checkpoint)->place->ship}, nullptr);
  const auto known = copies_.find(id);
  if (known == copies_.end() && named.empty()) return;
  auto before = known == copies_.end() ? decltype(named){} : std::move(known->second);
  for (auto& [ship, hold] : named) {
    const auto held = before.extract(ship);
    hold = held.empty() ? Uses::hold(uses_, ship) : held.mapped();
    if (const auto came = coming_.find(id); came != coming_.end() && came->second.ship == ship)
      coming_.erase(came);
  }
  if (named.empty())
    copies_.erase(known);
  else
    copies_.insert_or_assign(id, std::move(named));
  for (auto& [ship, hold] : before) {
    hold.reset();
    forget(ship);
  }
}

bool ShipDesk::Coming::is_newest_of(const Job& job) const {
  return job.checkpoint && job.checkpoint->place &&
         is_of(job.checkpoint->place->by, job.checkpoint->place->report);
}

// One before the newest serves until it is known what became of that. After a loss the newest is one that was
// kept before.
bool ShipDesk::Coming::may_be_named_by(const Job& job) const {
  if (!job.checkpoint || !job.checkpoint->place || !job.checkpoint->place->ship.empty())
    return false;
  return is_newest_of(job) || job.checkpoint->place->unkept.empty();
}

void ShipDesk::look_at_coming(JobId id, const Job* job) {
  const auto found = coming_.find(id);
  if (found == coming_.end()) return;
  if (job == nullptr || !found->second.may_be_named_by(*job)) drop_coming(id);
}

bool ShipDesk::coming(const ProcessKey& by, std::uint64_t report, const ShipOf& ship) {
  Coming next{by, report, ship, Uses::hold(uses_, ship)};
  const Job* job = controller_.state().find_job(by.job);
  const auto before = coming_.find(by.job);
  if (before != coming_.end() && !before->second.is_of(by, report) && job != nullptr &&
      before->second.is_newest_of(*job))
    return false;
  drop_coming(by.job);
  coming_.emplace(by.job, std::move(next));
  return true;
}

void ShipDesk::not_coming(const ProcessKey& by, std::uint64_t report) {
  const auto found = coming_.find(by.job);
  if (found != coming_.end() && found->second.is_of(by, report)) drop_coming(by.job);
}

void ShipDesk::drop_coming(JobId job) {
  const auto before = coming_.extract(job);
  if (before.empty()) return;
  before.mapped().hold.reset();
  forget(before.mapped().ship);
}

void ShipDesk::forget(const ShipOf& ship) {
  work(
      [ship](ShipStore& store) {
        store.forget(ship.first, ship.second);
        return true;
      },
      [](bool) {});
}

// A few at a time, so that nobody waits for it.
void ShipDesk::recall() {
  for (std::size_t i = 0; i < kRecalledAtOnce && !unknown_.empty(); ++i) {
    const auto launch = controller_.store().launch(unknown_.back());
    if (launch && !launch->shipped.ship.empty()) named(unknown_.back(), launch->shipped.ship);
    unknown_.pop_back();
  }
  uses_->know_all(unknown_.empty());
  if (!unknown_.empty()) recall_.after(std::chrono::milliseconds{1}, [this] { recall(); });
}

void ShipDesk::named(JobId job, const std::string& ship) {
  const Job* found = controller_.state().find_job(job);
  if (found == nullptr || is_over(found->state)) return;
  jobs_.emplace(job, Uses::hold(uses_, {found->spec->uid, ship}));
}

void ShipDesk::admit(std::uint32_t uid, const std::string& ship,
                     std::function<void(Result<AdmittedShip>)> done) {
  if (auto there = sha256_library(); !there) return done(fail(std::move(there.error())));
  work([uid, ship](ShipStore& store) { return admitted(store, uid, ship); },
       [hold = Uses::hold(uses_, {uid, ship}),
        done = std::move(done)](Result<AdmittedShip> outcome) mutable {
         if (outcome) outcome->hold = std::move(hold);
         done(std::move(outcome));
       });
}

}  // namespace paceline
