// What people wish for.
#include <algorithm>
#include <array>

#include "faults/people.hpp"

namespace paceline::faults {
namespace {

using namespace std::chrono_literals;

constexpr std::array kUsers = {"ann", "bob", "cyd"};
// Preferred, so that nobody waits for what never comes.
constexpr std::array kPlaces = {"self:node~30s", "self:rack~", "label:disk=nvme~30s",
                                "job:job-*~10s"};

Duration draw(Rng& rng, Duration low, Duration high) {
  return Duration{rng.between(low.count(), high.count())};
}

}  // namespace

JobSpec People::draw_spec() {
  JobSpec spec;
  const auto user = rng_.below(kUsers.size());
  spec.uid = kPeople + static_cast<std::uint32_t>(user);
  spec.user = kUsers[user];
  spec.slots_per_worker = rng_.chance(0.2) ? 2 : 1;
  if (spec.slots_per_worker == 1 && rng_.chance(0.1)) spec.mesh.tensor = 2;
  spec.workers = draw_range(spec);
  spec.priority = static_cast<std::int32_t>(rng_.between(45, 55));
  spec.retries = static_cast<std::int32_t>(rng_.below(3));
  spec.preemptible = !rng_.chance(0.1);
  spec.elastic = rng_.chance(0.5)   ? Elastic::restart
                 : rng_.chance(0.7) ? Elastic::automatic
                                    : Elastic::no;
  spec.notice.grace = draw(rng_, 0s, 20s);
  spec.on_disconnect = rng_.chance(0.2) ? OnDisconnect::go_on : OnDisconnect::stop;
  spec.hold = rng_.chance(0.1);
  if (rng_.chance(0.2)) spec.target = Target{"accuracy", Direction::at_least, 0.95, 0.98};
  if (server_ && server_->state().jobs().given() > 0 && rng_.chance(0.15)) spec.after = {any_job()};
  draw_length(spec);
  draw_place(spec);
  return spec;
}

void People::draw_length(JobSpec& spec) {
  if (rng_.chance(0.2)) spec.max_duration = draw(rng_, 10s, 2min);
  if (rng_.chance(0.5)) spec.minimum_run = draw(rng_, 1s, 30s);
  if (rng_.chance(0.5)) spec.expected_duration = draw(rng_, 1s, 2min);
  if (rng_.chance(0.1)) spec.expected_samples = 64 * (1 + rng_.below(500));
  if (server_ && rng_.chance(0.2)) spec.deadline = server_->wall() + draw(rng_, 10s, 10min);
}

void People::draw_place(JobSpec& spec) {
  spec.exclusive = rng_.chance(0.05);
  if (rng_.chance(0.5)) spec.memory_bytes = (1 + rng_.below(8)) << 30;
  if (rng_.chance(0.1)) spec.cpus = static_cast<double>(rng_.between(1, 8));
  if (!rng_.chance(0.15)) return;
  const auto* place = kPlaces[rng_.below(kPlaces.size())];
  spec.affinity.push_back(parse_affinity(place, rng_.chance(0.3)).value());
}

WorkerRange People::draw_range(const JobSpec& spec) {
  const auto step = spec.mesh.step();
  const auto most = std::max<std::int64_t>(1, habits_.slots / spec.slots_per_worker / step / 2);
  const auto low = static_cast<std::int32_t>(rng_.between(1, most));
  const auto high = static_cast<std::int32_t>(rng_.between(low, 2 * most));
  const auto want = static_cast<std::int32_t>(rng_.between(low, high));
  return {low * step, high * step, want * step};
}

}  // namespace paceline::faults
