// What a person wrote about a job, word by word, before it means anything: from a job file, from
// the command line, or both. One table names every word with its key in the job file, its option
// and how it is judged, so that both say the same and refuse the same.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "model/job_spec.hpp"
#include "notify/notify.hpp"

namespace paceline {

struct JobWords {
  std::optional<std::string> name, workdir, setup;
  std::optional<std::string> slots, slots_per_worker, cpus, memory, log_limit, priority;
  std::optional<std::string> gpus;  // slots by another name, until one_size()
  std::optional<std::string> tensor, pipeline, exclusive, preemptible, shared_shm, as_is, ship;
  std::optional<std::string> max_duration, min_run, stop_loss, resize_loss, expect, expect_speeds,
      deadline, retry, signal, grace;
  std::optional<std::string> checkpoint, checkpoint_store, elastic, on_disconnect, target,
      target_final, stalled_after;
  std::map<std::string, std::string> env;
  std::vector<std::string> after;    // ids
  std::vector<std::string> devices;  // models
  std::vector<std::string> affinity, anti_affinity;
  std::vector<std::string> notify_to, notify;  // addresses; kinds of messages
  std::vector<std::string> ship_paths;         // what of the directory travels; none: all of it
  bool mail_if_possible = false;               // its addresses are a batch script's
  std::vector<std::string> command;            // argv; of a `run:` text {"/bin/sh", "-c", text}
  bool shell = false;                          // true: command is our shell around a `run:` text
  bool hold = false;
};

struct JobWord {
  std::string_view key;         // in the job file: "memory"
  std::string_view section;     // "resources", "mesh", "target", "notify" or ""
  std::string_view option;      // "--memory"; "" if there is none
  std::string_view value_name;  // "SIZE"
  std::string_view help;
  std::optional<std::string> JobWords::*field;
  Result<void> (*judge)(const std::string& text);  // errors say nothing about the place
};

std::span<const JobWord> job_words();

// What may be said several times: a list in the job file, an option that may be repeated.
struct JobList {
  std::string_view key;      // "after"
  std::string_view section;  // "notify" or ""
  std::string_view option;   // "--after"
  std::string_view value_name;
  std::string_view help;
  std::vector<std::string> JobWords::*field;
  Result<void> (*add)(const std::string& text, std::vector<std::string>& to);  // as a judge
};

std::span<const JobList> job_lists();

// Does its directory travel with the job?
bool ships(const JobWords& words);

// By the table, the lists aside. Errors: invalid, "--slots: …".
Result<void> judge_words(const JobWords& words);

// Moves `gpus` to `slots`. Errors: invalid (both are given).
Result<void> one_size(JobWords& words);

// `over` where it says something, else `under`; `env` by name. A target replaces both tiers, a mesh
// both numbers.
JobWords overlaid(JobWords under, const JobWords& over);

// Errors: invalid, of what several words say together (slots that no number of workers makes).
// REQUIRES: every word passed its judge, and one_size().
Result<JobSpec> to_spec(const JobWords& words, WallTime now);

// What the owner asks to be told. Errors: invalid: kinds without an address. REQUIRES: as above.
Result<Notify> to_notify(const JobWords& words);

// "K=V" of --env. Errors: invalid.
Result<std::pair<std::string, std::string>> parse_variable(const std::string& text);

// "tensor=2,pipeline=2" of --mesh into `words`. Errors: invalid.
Result<void> add_mesh(const std::string& text, JobWords& words);

}  // namespace paceline
