// Sends the logs of a node's workers, and their timelines (files/log_names.hpp), to the server, as
// they grow (bytes_lines.hpp): says what goes out next, and hears the server's lines. Reads files;
// waits for nothing and owns no connection.
//
//   LogSender sender({.directory = dir, .machine = machine, …});
//   sender.begin(wall);                          // a connection was made
//   sender.look(now);                            // several times a second
//   while (auto bytes = sender.next()) send(*bytes);
//   sender.take(standing, now);
//
// Jobs take turns, and so do the logs of one job. A log that the server has whole stays for a while
// after its job is over; then it is removed, so that it doesn't fill the node's disk.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "base/time.hpp"
#include "link/bytes_lines.hpp"

namespace paceline {

class LogSender {
 public:
  using Instant = std::chrono::steady_clock::time_point;

  struct Options {
    std::filesystem::path directory;  // the node's; its logs lie in logs/
    std::string machine;              // drawn at random, with the directory (BytesHello::machine)
    // Does a process of the job live here, or is one about to?
    std::function<bool(JobId)> in_use = [](JobId) { return false; };
    // The job is over, and nothing of it lives here any more; told once.
    std::function<void(JobId)> over = [](JobId) {};
    // Removes the job's logs.
    std::function<void(JobId)> remove = [](JobId) {};
    std::chrono::seconds keep = std::chrono::hours{1};  // logs of a job that is over
    std::chrono::seconds ask_again = std::chrono::seconds{30};
  };
  explicit LogSender(Options options) : options_(std::move(options)) {}

  // A connection was made: everything is asked anew. Answers what is to be said first.
  std::string begin(WallTime wall);
  // Looks for logs that are new, grew, or may go.
  void look(Instant now);
  // What goes out next; nothing: there is nothing now, or too much is not acknowledged yet.
  std::optional<std::string> next();
  void take(const LogStanding& standing, Instant now);
  void take(const FlushAsked& asked, Instant now);

  // Bytes that were sent and are not acknowledged.
  [[nodiscard]] std::uint64_t unacknowledged() const { return unacknowledged_; }

 private:
  enum class Step { to_ask, asked, sends, waits };
  struct Log {
    Step step = Step::to_ask;
    LogState state = LogState::taken;
    std::uint64_t size = 0;
    std::uint64_t taken = 0;  // the server has it up to here
    std::uint64_t sent = 0;
    bool anew = false;  // it is shorter than what the server has of it
    bool over = false;
    Instant standing_at{};  // when the server told last

    [[nodiscard]] bool unknown() const { return step == Step::to_ask || step == Step::asked; }
    [[nodiscard]] bool whole() const { return step == Step::sends && taken >= size; }
  };
  struct Job {
    std::map<std::int32_t, Log> logs;
    std::int32_t turn = -1;  // whose log was sent last
    std::optional<Instant> done_since;
    bool told_over = false;
    Instant looked_at{};

    // Nothing grows there any more.
    [[nodiscard]] bool rests(Instant now, std::chrono::seconds span) const {
      return done_since && now - looked_at < span;
    }
    [[nodiscard]] bool sent() const;
  };

  void look_at(JobId id, Job& job, Instant now);
  void ask_again(Log& log, Instant now) const;
  bool may_go(JobId id, Job& job, Instant now) const;
  void remove(JobId id, Job& job);
  void drop(Log& log);
  std::optional<std::string> next_whole();
  std::optional<std::string> next_of(JobId id, Job& job);
  std::optional<std::string> next_of(const LogName& name, Log& log);
  [[nodiscard]] std::filesystem::path path_of(const LogName& log) const;

  Options options_;
  std::map<JobId, Job> jobs_;
  JobId turn_;               // whose log was sent last
  std::set<JobId> flushes_;  // that are to be answered
  std::uint64_t unacknowledged_ = 0;
};

}  // namespace paceline
