#include "scheduler/prospects.hpp"

#include <utility>

namespace paceline {

Prospects::Prospects(Parts parts)
    : parts_(std::move(parts)),
      foresight_({parts_.registry, parts_.placer, parts_.protects, parts_.last,
                  [this] { return parts_.clock.now(); },
                  [this](Expectations& expectations) { grades_.adjust(expectations); }}) {}

void Prospects::ask(std::function<void()> done) { foresight_.ask(present(), std::move(done)); }

void Prospects::what_ifs(JobId job, std::function<void(std::vector<WhatIf>)> done) {
  foresight_.ask_what_ifs(present(), job, std::move(done));
}

void Prospects::look_ahead(Submission submission, Done<Ahead> done) {
  const State& state = parts_.state;
  auto admitted = admit(state, submission.spec, submission.launch, state.next_job_id(),
                        parts_.clock.wall(), parts_.coming());
  if (!admitted) return done(fail(admitted.error()));
  foresight_.ask_ahead(present(), std::move(submission.spec), std::move(done));
}

const JobExpected* Prospects::expected(JobId job) const {
  if (newest() == nullptr) return nullptr;
  const auto found = newest()->jobs.find(job);
  return found == newest()->jobs.end() ? nullptr : &found->second;
}

void Prospects::told(JobId job) {
  if (const auto* expected = this->expected(job)) grades_.told(job, *expected, newest()->as_of);
}

void Prospects::resume(std::string_view text) {
  grades_ = Grades::parse(text);
  grades_.resume(parts_.state);
}

}  // namespace paceline
