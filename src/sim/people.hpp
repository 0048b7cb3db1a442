// People at random: they submit jobs, insist until they get an id, change their minds, and switch
// the policy.
#pragma once

#include <map>
#include <string>

#include "base/rng.hpp"
#include "scheduler/controller.hpp"
#include "sim/event_queue.hpp"
#include "sim/ledger.hpp"

namespace paceline::sim {

class People {
 public:
  struct Habits {
    int jobs = 30;                                  // they submit in all
    Duration pause_max = std::chrono::seconds{20};  // between two deeds
    std::int32_t slots = 8;                         // of all machines; each has two at least
  };

  People(EventQueue& queue, Ledger& ledger, Rng rng, const Habits& habits);

  // The server they talk to; nullptr: nobody answers.
  void set_server(Controller* server);
  void begin();
  // They submit what is left, let everything go on, and change nothing more.
  void calm();
  [[nodiscard]] bool done() const { return promised_ == habits_.jobs; }

 private:
  struct Wish {
    JobSpec spec;
    bool promised = false;
  };

  void act();
  void submit_one();
  void insist(const std::string& name);
  void meddle();
  void let_go_on();
  JobSpec draw_spec();
  WorkerRange draw_range(std::int32_t slots_per_worker);
  JobId any_job();

  EventQueue& queue_;
  Ledger& ledger_;
  Rng rng_;
  Habits habits_;
  Controller* server_ = nullptr;
  std::uint64_t server_life_ = 0;
  std::map<std::string, Wish> wishes_;
  int submitted_ = 0;
  int promised_ = 0;
  bool calm_ = false;
};

}  // namespace paceline::sim
