#include "faults/joiner.hpp"

#include <utility>

namespace paceline::faults {
namespace {

using namespace std::chrono_literals;

constexpr Duration kPastedAgain = 5s;  // the line, where nobody answered

}  // namespace

Joiner::Joiner(Scene& scene, Gate& gate, FaultyMachine& machine, const Habits& habits)
    : scene_(scene), gate_(gate), machine_(machine), habits_(habits) {
  machine_.on_entry([this] { return enter(); });
  gate_.add(machine_, [this] { return paper_ ? &*paper_ : nullptr; });
}

std::optional<KeptIdentity> Joiner::kept() const {
  if (!paper_) return {};
  return KeptIdentity{paper_->node, paper_->validity};
}

Newcomer Joiner::as() {
  if (!asking_) asking_ = gate_.new_key();
  return {machine_.name(), machine_.id(), *asking_};
}

void Joiner::paste(std::string token) {
  scene_.ledger.note("line pasted", machine_.name());
  token_ = std::move(token);
  machine_.begin();
}

void Joiner::copy(const Joiner& of) {
  paper_ = of.paper_;
  asking_ = of.asking_;
  asked_ = 0;
  there_since_.reset();
}

std::optional<Error> Joiner::stuck() const {
  if (machine_.is_off() || entering_ || serves() || token_) return {};
  if (!machine_.runs()) return problem_;
  if (auto flaw = flaw_of(*kept(), machine_.wall())) return flaw;
  const auto refusal = gate_.refusal(machine_);
  return refusal && refusal->retry == Retry::useless ? refusal : std::nullopt;
}

// ---- the entrance ----

bool Joiner::enter() {
  if (entering_) return false;
  problem_.reset();
  const auto entrance = entrance_of(kept(), machine_.name(), token_.has_value());
  if (!entrance) problem_ = entrance.error();
  if (!entrance) return false;
  if (*entrance != Entrance::goes_on) {
    ask();
    return false;
  }
  problem_ = flaw_of(*kept(), machine_.wall());
  return !problem_;
}

void Joiner::ask() {
  entering_ = true;
  gate_.ask_to_join(machine_, *token_, as(), [this](const Result<Paper>& answer) { hear(answer); });
}

void Joiner::hear(const Result<Paper>& answer) {
  entering_ = false;
  if (machine_.is_off()) return;
  const bool joined = answer && accept(*answer);
  const bool again = !joined && (answer || answer.error().retry == Retry::may_help);
  if (again) {
    scene_.queue.after(kPastedAgain, [this] {
      if (token_ && !entering_ && !machine_.runs()) machine_.begin();
    });
    return;
  }
  token_.reset();
  if (joined || (paper_ && may_go_on(*kept(), machine_.name(), machine_.wall())))
    return machine_.begin();
  scene_.ledger.note("join refused", answer.error().message);
  problem_ = answer.error();
}

// As IdentityDir does: by this machine's clock, and for the key that was asked for.
bool Joiner::accept(const Paper& paper) {
  if (!holds(paper.validity, machine_.wall()) || paper.key != asking_) return false;
  paper_ = paper;
  asking_.reset();
  asked_ = 0;
  there_since_.reset();
  return true;
}

// ---- another certificate ----

void Joiner::look() {
  if (machine_.is_scrapped()) return;
  scene_.queue.after(habits_.look_every, [this] { look(); });
  if (!machine_.runs() || !paper_) return there_since_.reset();
  if (!there_since_) there_since_ = scene_.queue.now();
  note_end();
  if (wants_another(*kept(), machine_.wall()) && !renewing_) renew();
}

// Its agent was there all the while in which it was to ask.
void Joiner::note_end() {
  if (!flaw_of(*kept(), machine_.wall())) return;
  const Duration last_third = paper_->validity.until - paper_->validity.renew_at();
  if (asked_ == 0 && scene_.queue.now() - *there_since_ > last_third + 2 * habits_.look_every &&
      !machine_.clock_was_set_since(*there_since_))
    scene_.ledger.wrong(scene_.queue.now(),
                        machine_.name() + " let its certificate run out, and never asked");
}

void Joiner::renew() {
  renewing_ = true;
  ++asked_;
  const std::string key = as().key;
  gate_.ask_for_another(machine_, *paper_, key, [this](const Result<Paper>& answer) {
    renewing_ = false;
    if (answer && machine_.runs()) accept(*answer);
  });
}

}  // namespace paceline::faults
