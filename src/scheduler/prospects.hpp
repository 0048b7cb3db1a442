// The desk for the future: when jobs will start and end, what would start one sooner, what a submission
// would do; and whether what people were told came true.
//
//   controller.prospects().ask([&] { controller.prospects().expected(id)->start; });
//   prospects.follow(touched);        // after every durable batch
#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "clock/clock.hpp"
#include "scheduler/commands.hpp"
#include "scheduler/foresight.hpp"
#include "scheduler/grades.hpp"
#include "scheduler/intake.hpp"
#include "scheduler/room.hpp"

namespace paceline {

class Prospects {
 public:
  struct Parts {
    const State& state;
    Clock& clock;
    const PolicyRegistry& registry;
    const Placer& placer;
    Protects protects;
    std::string last;  // the built-in policy behind all others
    std::function<ComingNodes()> coming;
  };
  explicit Prospects(Parts parts);

  // The driver calls its work(), on this thread or another, and hand_on() here once it is done.
  [[nodiscard]] Foresight& foresight() { return foresight_; }

  // ---- asking; each `done` is called at once or from hand_on() ----
  // Calls `done` once newest() tells of the present.
  void ask(std::function<void()> done);
  // What would start it sooner; as of Foresight::ask_what_ifs.
  void what_ifs(JobId job, std::function<void(std::vector<WhatIf>)> done);
  // What submitting it would do; nothing is submitted, and nothing kept. Errors: as of admit();
  // unavailable: too many ask.
  void look_ahead(Submission submission, Done<Ahead> done);
  void hand_on() { foresight_.hand_on(); }

  // nullptr: nothing was foreseen yet.
  [[nodiscard]] const Expectations* newest() const { return foresight_.newest().get(); }
  // The newest of a job; nullptr: there is none. Whatever shows it to a person says so by told().
  [[nodiscard]] const JobExpected* expected(JobId job) const;
  void told(JobId job);

  // ---- how good what was told was ----
  [[nodiscard]] const Grades& grades() const { return grades_; }
  // The state was loaded: goes on with what a former server kept (Grades::text).
  void resume(std::string_view text);
  void follow(std::span<const JobId> touched) { grades_.follow(parts_.state, touched); }
  [[nodiscard]] bool take_changed() { return grades_.take_changed(); }

 private:
  [[nodiscard]] Snapshot present() const { return {parts_.state, parts_.clock.now()}; }

  Parts parts_;
  Grades grades_;
  Foresight foresight_;
};

}  // namespace paceline
