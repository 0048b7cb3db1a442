// Prints a job's log as it grows: per rank from byte to byte, so that over any number of lost
// connections no line is lost or repeated.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "cli/client/api.hpp"
#include "cli/client/patience.hpp"
#include "cli/words/console.hpp"

namespace paceline {

struct LogQuery {
  std::uint32_t job = 0;
  std::optional<std::int64_t> rank;  // nothing: all
  std::optional<std::uint64_t> tail_bytes;
  bool name_ranks = false;  // "[2] " before each line
};

// Prints chunks and remembers how far each rank was read.
class LogPrinter {
 public:
  LogPrinter(Console& console, const LogQuery& query) : console_(console), query_(query) {}

  // What of the chunk was not printed yet. With named ranks the beginning of a line waits for its
  // end. Returns how many bytes of the log were new.
  std::int64_t print(const Document& chunk);
  // Prints the lines whose ends never came.
  void finish();
  // GET …/logs from where printing stopped.
  [[nodiscard]] std::string target(bool follow) const;

 private:
  void print_lines(std::int64_t rank, std::string_view text);

  Console& console_;
  LogQuery query_;
  std::map<std::int64_t, std::int64_t> next_;
  std::map<std::int64_t, std::string> begun_;  // lines without their end yet, by rank
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

 private:
  Result<Step> retry(const Error& error);

  ServerAddress server_;
  LogPrinter printer_;
  Patience patience_;
  std::optional<EventStream> stream_;
};

}  // namespace paceline
