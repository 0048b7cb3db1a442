// Prints a job's log as it grows: per rank from byte to byte, so that over any number of lost
// connections no line is lost or repeated.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "cli/client/api.hpp"
#include "cli/client/log_lines.hpp"
#include "cli/client/persistence.hpp"
#include "cli/words/console.hpp"

namespace paceline {

struct LogQuery {
  std::uint32_t job = 0;
  std::optional<std::int64_t> rank = {};         // nothing: all
  std::optional<std::uint64_t> tail_bytes = {};  // of each rank
  std::optional<std::size_t> tail_lines = {};    // of each rank
  std::optional<WallTime> since = {};            // none that were written before
  LogShow show = {};
};

// Prints chunks and remembers how far each rank was read.
class LogPrinter {
 public:
  LogPrinter(Console& console, const LogQuery& query)
      : query_(query), lines_(console, query.show) {}

  // What of the chunk was not printed yet. Returns how many bytes of the log were new.
  std::int64_t print(const Document& chunk);
  // Prints the last lines of each rank where the query asks for them. Printing goes on behind them.
  // Errors: what the server says.
  Result<void> print_tail(Api& api);
  // Prints the lines whose ends never came.
  void finish() { lines_.finish(); }
  // GET …/logs from where printing stopped.
  [[nodiscard]] std::string target(bool follow) const;
  [[nodiscard]] const LogLines& lines() const { return lines_; }

 private:
  LogQuery query_;
  LogLines lines_;
  std::map<std::int64_t, std::int64_t> next_;
};

// All there is now. Errors: what the server says.
Result<void> print_log(Api& api, Console& console, const LogQuery& query);

class LogFollower {
 public:
  LogFollower(ServerAddress server, Console& console, const LogQuery& query)
      : server_(std::move(server)), printer_(console, query), patience_(console) {}

  enum class Step { waited, printed, ended };

  // Prints the next chunk, or returns after `timeout`, after a signal, or after a wait because the
  // server is away. Errors: those that trying again can't mend.
  Result<Step> step(Duration timeout);
  // As of LogPrinter. REQUIRES: before the first step().
  Result<void> print_tail(Api& api) { return printer_.print_tail(api); }
  [[nodiscard]] const LogLines& lines() const { return printer_.lines(); }

 private:
  Result<Step> retry(const Error& error);

  ServerAddress server_;
  LogPrinter printer_;
  Persistence patience_;
  std::optional<EventStream> stream_;
};

}  // namespace paceline
