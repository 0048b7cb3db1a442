// The options of sbatch, and what each of them means here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "cli/job/job_words.hpp"

namespace paceline {

// What the lines of a script ask for, as far as they are read.
struct SbatchRequest {
  JobWords words;
  std::optional<std::int64_t> nodes, tasks, tasks_per_node;
  std::optional<std::int64_t> gpus, gpus_per_node, gpus_per_task;
  std::optional<std::int64_t> cpus_per_task, cpus_per_gpu;
  std::optional<std::uint64_t> memory, memory_per_cpu, memory_per_gpu;  // bytes
  std::vector<std::string> mail_types;                                  // kinds of messages
  std::optional<std::string> mail_user;
  bool array = false;  // the owner gives the number of one task of it
};

struct SbatchOption {
  std::string_view name;  // "--time"
  char letter;            // 't' of "-t"; 0 if there is none
  bool takes_value;
  // Into the request; null where it has no meaning. Errors say nothing about the place.
  Result<void> (*take)(const std::string& value, SbatchRequest& request);
  std::string_view says;  // what its owner is told; may be empty
};

// By "--time", "-t" or "hetjob", which has no dash; null if there is none.
const SbatchOption* find_sbatch_option(std::string_view name);

// Who is mailed what, in a job's words. Nothing: nobody is; else a sentence why it can't be.
std::optional<std::string> add_mail(const SbatchRequest& request, JobWords& words);

// Nodes, tasks, GPUs, cores and memory of the lines together, in the words of a job that is one
// worker. Errors: invalid (they contradict each other, or need several machines).
Result<JobWords> words_of(const SbatchRequest& request);

}  // namespace paceline
