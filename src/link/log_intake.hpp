// Takes the logs that nodes send into the server's own: DIR/logs/<job>/rank<n>.log as the workers of
// this machine write them (agent/linux/log_file.hpp), the times beside it, and where its bytes came
// from (log_sources.hpp). Whose logs a node may send is for others to say.
//
//   LogIntake intake({.directory = "/var/lib/paceline"});
//   intake.taken(source, {job, 0}, uid);                   // how far it has it
//   intake.take(source, {.log = {job, 0}, …}, uid, bytes);
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.hpp"
#include "files/fd.hpp"
#include "files/log_times_writer.hpp"
#include "link/bytes_lines.hpp"
#include "link/log_sources.hpp"

namespace paceline {

class LogIntake {
 public:
  struct Options {
    std::filesystem::path directory;  // the server's
    // As write(2).
    std::function<ssize_t(int, const char*, std::size_t)> write = {};
    std::size_t open_max = 256;  // logs that are held open; those used longest ago are closed
  };
  explicit LogIntake(Options options);
  ~LogIntake();

  // How far the server has this node's log. Errors: as below.
  Result<std::uint64_t> taken(const Sha256& source, const LogName& log, std::uint32_t uid);
  // Appends a piece; answers how far it has the log now. `piece.at` is of this machine's clock,
  // `piece.anew` doesn't count. A new log is the user's `uid`. Errors: conflict: what `from` says isn't
  // so; storage: the disk is full, say: trying again with the same piece may help; forbidden: what lies
  // there is no log, or can't be written.
  Result<std::uint64_t> take(const Sha256& source, const PieceHead& piece, std::uint32_t uid,
                             std::string_view bytes);
  // The node's log is shorter than what the server has of it: from there on it is taken. Errors: as
  // above.
  Result<void> begin_anew(const Sha256& source, const LogName& log, std::uint32_t uid,
                          std::uint64_t from);

  // The logs that grew since the last call.
  std::set<LogName> take_grown() { return std::exchange(grown_, {}); }

 private:
  struct Open;

  Result<Open*> open(const LogName& log, std::uint32_t uid);
  Result<std::unique_ptr<Open>> open_files(const LogName& log, std::uint32_t uid) const;
  Result<UniqueFd> open_folder(JobId job) const;
  Result<void> skip(Open& log, const Sha256& source, const PieceHead& piece);
  Result<void> begin_line(Open& log, const Sha256& source);
  Result<void> append(Open& log, std::string_view text);

  Options options_;
  std::map<LogName, std::unique_ptr<Open>> open_;
  std::uint64_t turn_ = 0;
  std::set<LogName> grown_;
};

}  // namespace paceline
