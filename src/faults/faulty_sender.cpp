#include "faults/faulty_sender.hpp"

#include <fmt/format.h>

namespace paceline::faults {
namespace {

using namespace std::chrono_literals;

constexpr Duration kTriedAgain = 10s;
constexpr double kAnswerLost = 0.1;

}  // namespace

FaultySender::FaultySender(Scene& scene, FaultyServer& server, FaultyMachine& machine,
                           const SenderHabits& habits, Rng rng)
    : scene_(scene), server_(server), machine_(machine), habits_(habits), rng_(rng) {
  machine_.host().on_keep([this](const WantedCheckpoint& wanted) { send(wanted); });
}

void FaultySender::send(const WantedCheckpoint& wanted) {
  newest_[wanted.key.job] = {wanted.key, wanted.report};
  const Duration most = scene_.calm ? 100ms : habits_.takes;
  try_after(Duration{rng_.between(0, most.count())}, wanted);
}

void FaultySender::try_after(Duration span, const WantedCheckpoint& wanted) {
  scene_.queue.after(span, [this, wanted, life = machine_.life()] {
    if (life == machine_.life()) try_now(wanted);
  });
}

void FaultySender::try_now(const WantedCheckpoint& wanted) {
  if (newest_.at(wanted.key.job) != std::pair{wanted.key, wanted.report}) return;
  const bool arrives = machine_.link().carries() && server_.works();
  if (!arrives) return try_after(Duration{rng_.between(0, kTriedAgain.count())}, wanted);
  const KeptCheckpoint kept = outcome(wanted);
  scene_.ledger.note(kept.keeping == Keeping::kept ? "checkpoint sent" : "checkpoint not sent",
                     machine_.name());
  const auto taken = server_.take_kept(machine_.name(), kept);
  if (taken && !scene_.calm && rng_.chance(kAnswerLost))
    try_after(Duration{rng_.between(0, kTriedAgain.count())}, wanted);
}

KeptCheckpoint FaultySender::outcome(const WantedCheckpoint& wanted) {
  KeptCheckpoint kept{wanted.key, wanted.report};
  if (habits_.shared) {
    kept.keeping = Keeping::shared;
  } else if (!scene_.calm && rng_.chance(habits_.unkept)) {
    kept.keeping = Keeping::unkept;
    kept.text = "It has more than the server keeps.";
  } else {
    kept.text = fmt::format("{}-{}-{}-{}", wanted.key.job.value, wanted.key.born.value,
                            wanted.key.number, wanted.report);
  }
  return kept;
}

}  // namespace paceline::faults
