// Which files were renamed into place: a checkpoint that is written under another name and renamed
// (os.replace, mv) is complete at once, one that is written in place only when it stays as it is.
// Watches the directories that it is told, with inotify; where that can't be had, or events were lost,
// it knows of no renames, and every file is taken for one written in place.
//
//   Renames renames;
//   renames.watch("/home/ann/run/checkpoints");
//   renames.read();                                                   // every now and then
//   if (renames.renamed("/home/ann/run/checkpoints/last.pt")) …       // and not written to since
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "files/fd.hpp"

namespace paceline::agent {

class Renames {
 public:
  // With more directories than that it begins anew.
  explicit Renames(std::size_t directories_max = 256) : directories_max_(directories_max) {}

  // Watched from now on: what was renamed before is not known.
  void watch(const std::string& directory);
  // What happened since the last call.
  void read();
  // By what read() saw, into a directory as watch() named it.
  [[nodiscard]] bool renamed(const std::string& path) const { return renamed_.contains(path); }

 private:
  void begin_anew();
  // False: what is known holds no longer.
  [[nodiscard]] bool take(int watch, std::uint32_t what, std::string_view name);

  std::size_t directories_max_;
  UniqueFd events_;
  std::size_t named_ = 0;
  std::map<int, std::set<std::string>> directories_;  // by watch; names that lead to one directory
  std::set<std::string> renamed_;
};

}  // namespace paceline::agent
