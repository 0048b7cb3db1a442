// Room that is kept for the journal: the file DIR/reserve, given up once the disk is full, so that
// ends of jobs can still be written while nothing new is accepted. For store/sqlite alone.
#pragma once

#include <cstdint>
#include <filesystem>

namespace paceline {

class Reserve {
 public:
  // Makes nothing yet. `bytes` 0: there is none.
  Reserve(std::filesystem::path file, std::uint64_t bytes)
      : file_(std::move(file)), bytes_(bytes) {}

  // Makes sure of it where the disk has twice as much left; otherwise a later call does.
  void take();
  // False: there was nothing to give.
  bool give_up();

 private:
  std::filesystem::path file_;
  std::uint64_t bytes_;
  bool taken_ = false;
};

}  // namespace paceline
