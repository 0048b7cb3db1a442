#include "app/log_remover.hpp"

#include <utility>

#include "agent/linux/log_removal.hpp"

namespace paceline {
namespace {

constexpr std::size_t kFilesAtOnce = 16;

}  // namespace

Result<bool> LogRemover::remove(JobId job) {
  switch (progress_.load()) {
    case Progress::wanted:
      return false;
    case Progress::done:
      progress_ = Progress::idle;
      if (job == job_) return true;
      break;
    case Progress::failed:
      progress_ = Progress::idle;
      return fail(std::move(error_));
    case Progress::idle:
      break;
  }
  job_ = job;
  progress_ = Progress::wanted;
  background_.wake();
  return false;
}

bool LogRemover::work() {
  if (progress_.load() != Progress::wanted) return false;
  auto removed = agent::remove_logs(directory_, job_, kFilesAtOnce);
  if (removed && !*removed) return true;
  if (!removed) error_ = std::move(removed.error());
  progress_ = removed ? Progress::done : Progress::failed;
  return false;
}

}  // namespace paceline
