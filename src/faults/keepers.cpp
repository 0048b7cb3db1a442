#include "faults/keepers.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace paceline::faults {
namespace {

using namespace std::chrono_literals;

constexpr Duration kInvitedFor = 5min, kRemovedFor = 3min;  // at most
constexpr Duration kCopyStays = 90s, kCopyIsAway = 90s;     // at most
constexpr Duration kLookAgain = 5s;
constexpr Duration kCutOffMax = 25s;
constexpr double kOldToken = 0.2, kRevokes = 0.1;

}  // namespace

void Keepers::begin() {
  for (Ward& ward : wards_) ward.joiner.begin();
  if (copy_ != nullptr) {
    copy_->begin();
    copy_->machine().switch_off();
    scene_.queue.after(up_to(kCopyIsAway), [this] { bring_copy(); });
  }
  note_absent();
  act();
}

void Keepers::act() {
  if (scene_.calm) {
    for (Ward& ward : wards_) look_after(ward);
    scene_.queue.after(kLookAgain, [this] { act(); });
    return;
  }
  look_after(wards_[rng_.below(wards_.size())]);
  scene_.queue.after(up_to(habits_.every), [this] { act(); });
}

void Keepers::look_after(Ward& ward) {
  if (!ward.arrived) return let_join(ward);
  if (ward.back_at) {
    if (scene_.calm || *ward.back_at <= scene_.queue.now()) come_back(ward);
    return;
  }
  if (ward.joiner.stuck()) return help(ward);
  if (scene_.calm || !ward.joiner.serves()) return;
  const auto deed = rng_.below(20);
  if (deed < 2) return remove(ward);
  if (deed < 4) return remove_off(ward);
  if (deed < 6) return paste_again(ward);
}

// ---- joining ----

std::optional<std::string> Keepers::draw_token() {
  if (!scene_.calm && !tokens_.empty() && rng_.chance(kOldToken))
    return tokens_[rng_.below(tokens_.size())];
  const auto uses = static_cast<std::uint32_t>(1 + rng_.below(3));
  const auto token = gate_.invite(uses, scene_.calm ? kInvitedFor : up_to(kInvitedFor) + 1s);
  if (!token) return {};
  tokens_.push_back(*token);
  if (!scene_.calm && rng_.chance(kRevokes)) (void)gate_.revoke(*token);
  return *token;
}

void Keepers::let_join(Ward& ward) {
  if (ward.joiner.joins()) return;
  const auto token = draw_token();
  if (!token) return;
  ward.arrived = true;
  ward.joiner.paste(*token);
}

void Keepers::paste_again(Ward& ward) {
  scene_.ledger.note("line pasted once more", ward.joiner.machine().name());
  let_join(ward);
}

// As the refusal says: what is there under its name is removed, and it joins anew.
void Keepers::help(Ward& ward) {
  const std::string name = ward.joiner.machine().name();
  scene_.ledger.note("machine stuck", fmt::format("{}: {}", name, ward.joiner.stuck()->message));
  switch_off_copy_of(name);
  if (gate_.is_node(name) && !gate_.remove(name, false)) return;
  let_join(ward);
}

// ---- removing ----

void Keepers::remove(Ward& ward) {
  if (gate_.remove(ward.joiner.machine().name(), false))
    ward.back_at = scene_.queue.now() + up_to(kRemovedFor);
}

void Keepers::remove_off(Ward& ward) {
  ward.joiner.machine().switch_off();
  ward.back_at = scene_.queue.now() + up_to(kRemovedFor);
  say_off(ward);
}

// It counts as down after a while, and not before that is it taken. Whoever says that a machine is off has
// looked at each that bears its name.
void Keepers::say_off(Ward& ward) {
  if (!ward.back_at || !ward.joiner.machine().is_off()) return;
  const std::string name = ward.joiner.machine().name();
  switch_off_copy_of(name);
  if (gate_.remove(name, true)) return;
  scene_.queue.after(kLookAgain, [this, &ward] { say_off(ward); });
}

void Keepers::come_back(Ward& ward) {
  if (gate_.is_node(ward.joiner.machine().name()) && ward.joiner.machine().is_off() && !scene_.calm)
    return;  // until the server takes the word that it is off
  ward.joiner.machine().switch_on();
  ward.back_at.reset();
  let_join(ward);
}

// ---- a copy ----

void Keepers::switch_off_copy_of(const std::string& name) {
  if (copy_ != nullptr && copy_->machine().name() == name) switch_off_copy();
}

// Nobody reads what its workers wrote there.
void Keepers::switch_off_copy() {
  FaultyMachine& machine = copy_->machine();
  machine.host().each_claimed([&](const ProcessKey& worker) { scene_.ledger.unread(worker); });
  machine.switch_off();
}

void Keepers::bring_copy() {
  if (scene_.calm) return;
  scene_.queue.after(up_to(kCopyStays), [this] { take_copy(); });
  Joiner& first = wards_.front().joiner;
  if (!first.serves() && !first.machine().is_off()) return;
  scene_.ledger.note("copy of a machine comes", first.machine().name());
  if (!copied_ || rng_.chance(0.3)) copy_->copy(first);
  copied_ = true;
  copy_->machine().switch_on();
}

void Keepers::take_copy() {
  switch_off_copy();
  if (!scene_.calm) scene_.queue.after(up_to(kCopyIsAway), [this] { bring_copy(); });
}

// Where a machine is cut off for longer than an agent takes to dial again, and its workers run, a copy of it
// is taken for it: nothing in the program holds against that.
void Keepers::watch_first() {
  FaultyMachine& first = wards_.front().joiner.machine();
  const bool cut_off = !wards_.front().joiner.serves() && first.host().has_workers();
  if (!cut_off) return cut_off_since_.reset();
  if (!cut_off_since_) cut_off_since_ = scene_.queue.now();
  if (scene_.queue.now() - *cut_off_since_ > kCutOffMax) switch_off_copy();
}

// ---- at the end ----

void Keepers::calm() {
  if (copy_ != nullptr) switch_off_copy();
}

bool Keepers::done() const {
  return std::ranges::all_of(wards_, [](const Ward& ward) { return ward.joiner.serves(); });
}

void Keepers::check_rest() {
  for (const Ward& ward : wards_) {
    if (ward.joiner.serves()) continue;
    const auto why = ward.joiner.stuck();
    scene_.ledger.wrong(scene_.queue.now(),
                        fmt::format("{} is kept out for ever: {}", ward.joiner.machine().name(),
                                    why ? why->message : "nobody says why"));
  }
}

// Nothing is to be expected of a machine that isn't heard.
void Keepers::note_absent() {
  for (const Ward& ward : wards_)
    if (!ward.joiner.serves())
      scene_.ledger.away(ward.joiner.machine().id(), scene_.queue.now() + 2 * kLookAgain);
  if (copy_ != nullptr) watch_first();
  scene_.queue.after(kLookAgain, [this] { note_absent(); });
}

}  // namespace paceline::faults
