// Notes when a log grew (files/log_times.hpp).
//
//   LogTimesWriter times(times_path(log));
//   times.note(clock.wall(), length);   // several times a second
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "base/time.hpp"
#include "files/fd.hpp"
#include "files/log_times.hpp"

namespace paceline {

// "…/rank0.times" of "…/rank0.log".
std::string times_path(const std::string& log);

class LogTimesWriter {
 public:
  explicit LogTimesWriter(std::string path) : path_(std::move(path)) {}

  // Nothing where the log is not longer than at the last note. What can't be written is left out: the
  // log's lines are placed by a later note.
  void note(WallTime now, std::uint64_t length);

 private:
  bool open();
  bool thin();

  std::string path_;
  UniqueFd fd_;
  std::size_t count_ = 0;
  std::uint64_t length_ = 0;  // at the last note
};

}  // namespace paceline
