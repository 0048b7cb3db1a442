// People at random: they submit jobs, insist until they get an id, change their minds, switch, try, load
// and forget policies, and drain nodes.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/rng.hpp"
#include "faults/event_queue.hpp"
#include "faults/ledger.hpp"
#include "scheduler/controller.hpp"

namespace paceline::faults {

class People {
 public:
  struct Habits {
    int jobs = 30;                              // they submit in all
    Duration every = std::chrono::seconds{20};  // between two deeds
    std::int32_t slots = 8;                     // of all machines; each has two at least
    std::vector<std::string> scripts{};         // texts of policies they bring
    std::string patience{};                     // that they give policies; empty: none
  };

  People(EventQueue& queue, Ledger& ledger, Rng rng, Habits habits);

  // The server they talk to; nullptr: nobody answers.
  void set_server(Controller* server);
  void begin();
  // They submit what is left, let everything go on, keep to one of the built-in policies, and
  // change nothing more.
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
  void give_in(JobSpec& spec, std::string_view why);
  void meddle();
  void ask(Request request);
  void change_range();
  void meddle_with_nodes();
  void undrain_all();
  void let_go_on();
  JobId any_job();
  // Counts the deed once it is done.
  Done<void> deed(std::string_view what);

  // ---- what they wish for (people_specs.cpp) ----
  JobSpec draw_spec();
  void draw_length(JobSpec& spec);
  void draw_place(JobSpec& spec);
  WorkerRange draw_range(const JobSpec& spec);

  // ---- policies (people_policies.cpp) ----
  struct Choice {
    std::string name;
    std::map<std::string, std::string> parameters;
  };
  void meddle_with_policies();
  Choice draw_policy();
  void keep_to_one_policy();

  EventQueue& queue_;
  Ledger& ledger_;
  Rng rng_;
  Habits habits_;
  Controller* server_ = nullptr;
  std::uint64_t server_life_ = 0;
  std::map<std::string, Wish> wishes_;
  std::string last_policy_;  // once they are calm
  int submitted_ = 0;
  int promised_ = 0;
  bool calm_ = false;
};

}  // namespace paceline::faults
