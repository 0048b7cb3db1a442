#include "scheduler/foresight.hpp"

#include <utility>

#include "forecast/plays.hpp"

namespace paceline {
namespace {

constexpr int kPlays = 3;

// What the policies of a lineup are made of.
State policies_of(const StateParts& parts) {
  StateParts of;
  of.periods = parts.periods;
  of.scripts = parts.scripts;
  return State(std::move(of));
}

}  // namespace

// ---- the live side ----

bool Foresight::holds(const Snapshot& live) const {
  return newest_ && newest_->seq == live.state.seq() && live.now < newest_->as_of + kExpectedAge;
}

// Questions about one moment share a copy.
std::shared_ptr<const Foresight::Present> Foresight::present_of(const Snapshot& live) {
  auto present = present_.lock();
  if (present && present->parts.seq == live.state.seq() && present->now == live.now) return present;
  present = std::make_shared<const Present>(Present{live.state.parts(), live.now});
  present_ = present;
  return present;
}

bool Foresight::queue(const Snapshot& live, std::function<Tell(const Present&)> answer) {
  {
    const std::lock_guard lock(mutex_);
    if (questions_.size() >= kQuestionsMax) return false;
  }
  auto present = present_of(live);
  {
    const std::lock_guard lock(mutex_);
    questions_.push_back({std::move(present), std::move(answer)});
  }
  if (wake_) wake_();
  return true;
}

void Foresight::ask(const Snapshot& live, std::function<void()> done) {
  if (holds(live) || (newest_ && !asked_ && live.now < rests_until_)) return done();
  if (!asked_) {
    asked_ = queue(live, [this](const Present& present) -> Tell {
      const auto found = std::make_shared<Expectations>(foresee(present));
      return [this, found] { tell(found); };
    });
    if (!asked_) return done();
    asked_at_ = live.now;
  }
  waiting_.push_back(std::move(done));
}

void Foresight::tell(std::shared_ptr<Expectations> found) {
  rules_.adjust(*found);
  newest_ = std::move(found);
  asked_ = false;
  const Time now = rules_.now();
  rests_until_ = now + (now - asked_at_);
  for (const auto& done : std::exchange(waiting_, {})) done();
}

void Foresight::ask_what_ifs(const Snapshot& live, JobId job,
                             std::function<void(std::vector<WhatIf>)> done) {
  const auto answer = [this, job, done](const Present& present) -> Tell {
    const Lineup policies = lineup(present);
    auto found = what_ifs(
        {present.parts, present.now, decider(policies), rules_.placer, rules_.protects, rules_.now},
        job);
    return [done, found = std::move(found)] { done(found); };
  };
  if (!queue(live, answer)) done({});
}

void Foresight::ask_ahead(const Snapshot& live, JobSpec spec,
                          std::function<void(Result<Ahead>)> done) {
  const auto answer = [this, spec = std::move(spec), done](const Present& present) -> Tell {
    const Lineup policies = lineup(present);
    auto found = look_ahead(
        {present.parts, present.now, policies, rules_.placer, rules_.protects, rules_.now}, spec);
    return [done, found = std::move(found)] { done(found); };
  };
  if (!queue(live, answer)) {
    done(fail(ErrorCode::unavailable, "Too many ask at once what will happen.",
              "Try again in a moment.", Retry::may_help));
  }
}

void Foresight::hand_on() {
  std::vector<Tell> answers;
  {
    const std::lock_guard lock(mutex_);
    answers.swap(answers_);
  }
  for (const Tell& tell : answers) tell();
}

// ---- the working side ----

bool Foresight::work() {
  Question question;
  {
    const std::lock_guard lock(mutex_);
    if (questions_.empty()) return false;
    question = std::move(questions_.front());
    questions_.pop_front();
  }
  Tell answer = question.answer(*question.present);
  question = {};
  {
    const std::lock_guard lock(mutex_);
    answers_.push_back(std::move(answer));
  }
  if (done_) done_();
  return true;
}

Lineup Foresight::lineup(const Present& present) const {
  return {policies_of(present.parts), rules_.registry, rules_.last};
}

// Each play has its part of the budget.
Expectations Foresight::foresee(const Present& present) const {
  const Lineup policies = lineup(present);
  Plays plays(present.parts, present.now, decider(policies), rules_.placer, rules_.protects);
  const Time began = rules_.now();
  while (plays.step()) {
    const auto part = rules_.budget * static_cast<int>(plays.played() + 1) / kPlays;
    if (rules_.now() - began > part) plays.cut();
  }
  return plays.expectations();
}

}  // namespace paceline
