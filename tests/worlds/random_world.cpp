#include "worlds/random_world.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace paceline::testing {

std::string_view RandomWorld::one_of(const Words& words) { return words[rng_.below(words.size())]; }

std::string RandomWorld::cluster() {
  std::string text = "cluster";
  const auto groups = rng_.between(1, 3);
  for (std::int64_t i = 0; i < groups; ++i) {
    text += fmt::format("{} {}x", i == 0 ? "" : ";", rng_.between(1, 2));
    text += fmt::format("{} ", one_of({"1", "2", "3", "4", "6", "8"}));
    text += one_of({"cpu", "a100", "h100"});
    if (often()) text += fmt::format(" rack={}", one_of({"a", "b"}));
    if (often()) text += " memory=64";
    if (seldom()) text += " islands=2";
  }
  return text;
}

std::string RandomWorld::policy(std::string_view name) {
  std::string text = fmt::format("policy {}", name);
  if (name == "fifo") text += fmt::format(" backfill={}", one_of({"none", "greedy", "easy"}));
  if (name == "las" || name == "elastic-las") {
    text += fmt::format(" queues={}", one_of({"1", "2", "3"}));
    text += fmt::format(" threshold={}", one_of({"5", "60", "600"}));
    text += fmt::format(" promote={}", one_of({"0", "1", "8"}));
  }
  if (name == "elastic-las") text += fmt::format(" pending={}", one_of({"0", "1", "3"}));
  if (name == "ffdl" && often()) text += " limit=0";
  if (name == "fair" && often()) text += " weights=ann:2,bob:0.5";
  if (often()) text += fmt::format(" patience={}", one_of({"10s", "1m", "5m"}));
  return often() ? text + " unprotected" : text;
}

std::string RandomWorld::next(const World& world) {
  const auto dice = rng_.below(100);
  const bool full = world.state().jobs().size() >= kJobsMax;
  if (dice < 24 && !full) return submit(world);
  if (dice < 46) return "round";
  if (dice < 58) return "obey";
  if (dice < 72) return fmt::format("advance {}", one_of({"1s", "5s", "20s", "1m", "10m"}));
  if (dice < 88) return of_a_running_job(world);
  return dice < 95 ? of_a_job(world) : of_a_node(world);
}

std::string RandomWorld::range(std::int64_t step) {
  const auto min = step * rng_.between(1, 3), max = min + step * rng_.between(0, 4);
  const auto want = min + step * rng_.between(0, (max - min) / step);
  return want == min ? fmt::format("{}..{}", min, max) : fmt::format("{}..{}@{}", min, max, want);
}

std::string RandomWorld::submit(const World& world) {
  const std::string_view mesh = seldom() ? one_of({"2x1", "1x2", "2x2"}) : "1x1";
  const std::int64_t step = mesh == "1x1" ? 1 : mesh == "2x2" ? 4 : 2;
  std::string text = fmt::format("submit {}", range(step));
  text += fmt::format(" user={}", one_of({"ann", "bob", "cem"}));
  text += fmt::format(" name={}", one_of({"fit", "prep"}));
  text += fmt::format(" elastic={}", one_of({"auto", "restart", "restart", "no"}));
  if (step > 1) text += fmt::format(" mesh={}", mesh);
  if (seldom()) text += fmt::format(" slots_per_worker={}", rng_.between(2, 3));
  // Admission vouches for the smallest size alone: a particular job asks for no more.
  const bool particular = seldom() && text.find('@') == std::string::npos;
  if (particular)
    text += one_of({" devices=a100", " devices=cpu", " anti=self", " affinity=self:rack~1m",
                    " anti=job:prep~1m", " exclusive"});
  if (often()) text += fmt::format(" memory={}", rng_.between(1, 8));
  if (seldom()) text += fmt::format(" priority={}", one_of({"10", "60", "90"}));
  if (often()) text += fmt::format(" expect={}s", rng_.between(1, 900));
  if (often()) text += " samples=1000";
  if (rng_.chance(0.3)) {
    const Duration passed = world.now() - world.journal().front().at;
    text += fmt::format(" deadline={}ms", passed.count() / 1000 + rng_.between(1, 900'000));
  }
  if (seldom()) text += " unpreemptible";
  if (seldom()) text += fmt::format(" min_run={}", one_of({"1s", "1m"}));
  if (rng_.chance(0.3)) text += " retry=2";
  if (seldom()) text += " hold";
  if (seldom() && !world.state().jobs().empty())
    text += fmt::format(" after={}", rng_.between(1, world.state().next_job_id().value - 1));
  return text;
}

std::string RandomWorld::of_a_job(const World& world) {
  if (world.state().jobs().empty()) return "round";
  const auto job = rng_.below(world.state().jobs().size()) + 1;
  const auto verb = one_of({"cancel", "pause", "resume", "resume", "resize", "resize"});
  if (verb != "resize") return fmt::format("{} {}", verb, job);
  const JobSpec& spec = *world.state().job(JobId{static_cast<std::uint32_t>(job)}).spec;
  if (!spec.devices.empty() || !spec.affinity.empty() || spec.exclusive) return "round";
  return fmt::format("resize {} {}", job, range(spec.mesh.step()));
}

// What the workers of a job that runs might tell; without one, a round.
std::string RandomWorld::of_a_running_job(const World& world) {
  std::vector<const Job*> running;
  for (const Job& job : world.state().jobs()) {
    if (job.state == JobState::running) running.push_back(&job);
  }
  if (running.empty()) return "round";
  const Job& job = *running[rng_.below(running.size())];
  const auto dice = rng_.below(10);
  if (dice == 0 && !job.current->in_place) return fmt::format("stands {}", job.id.value);
  if (dice < 4) return fmt::format("checkpoint {}", job.id.value);
  if (dice < 6) {
    const auto before = job.progress && job.progress->samples ? *job.progress->samples : 0;
    return fmt::format("report {} samples={}", job.id.value, before + rng_.below(200) + 1);
  }
  const auto how = one_of({"0", "0", "1", "75", "signal 9", "out_of_memory"});
  const auto rank = rng_.between(0, job.current->size() - 1);
  const bool one = rng_.chance(0.3);
  if (one) return fmt::format("ended {} rank={} {}", job.id.value, rank, how);
  return fmt::format("ended {} {}", job.id.value, how);
}

std::string RandomWorld::of_a_node(const World& world) {
  const auto& nodes = world.state().nodes();
  const Node& node = nodes[rng_.below(nodes.size())];
  return fmt::format("{} {}", node.up ? "lost" : "up", node.spec.name);
}

}  // namespace paceline::testing
