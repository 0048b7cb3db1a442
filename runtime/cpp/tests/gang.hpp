// Gangs for tests: every rank on a thread of this process, or as a process of its own.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "paceline/runtime.hpp"

namespace paceline::testing {

inline const std::string kSecret = "a secret of thirty-two bytes ...";

// Where members seem to run: the last one alone on another host, or all on one.
enum class Where { one_host, two_hosts };
inline void place(std::vector<std::string>& endpoints, Where where) {
  if (where == Where::two_hosts)
    endpoints.back().replace(0, endpoints.back().find(','), "elsewhere");
}

struct Ended {
  std::optional<GroupError> error;
  [[nodiscard]] bool well() const { return !error; }
  [[nodiscard]] std::string message() const { return error ? error->what() : ""; }
};

class Gang {
 public:
  using Run = std::function<void(Group&)>;

  explicit Gang(int size, Group::Options options = {}, Where where = Where::one_host) {
    options.size = size;
    options.address = "127.0.0.1";
    if (options.secret.empty()) options.secret = kSecret;
    for (options.rank = 0; options.rank < size; ++options.rank) groups_.emplace_back(options);
    for (const auto& each : groups_) endpoints_.push_back(each.endpoint());
    place(endpoints_, where);
  }
  Gang(int size, Run run, Where where = Where::one_host) : Gang(size, Group::Options{}, where) {
    for (const auto& each : connect()) check(each);
    for (const auto& each : this->run(run)) check(each);
  }

  [[nodiscard]] Group& group(int rank) { return groups_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] const std::vector<std::string>& endpoints() const { return endpoints_; }
  std::vector<Ended> connect() {
    return run([this](Group& group) { group.connect(endpoints_); });
  }
  // On all ranks at once.
  std::vector<Ended> run(const Run& run) {
    std::vector<Ended> ended(groups_.size());
    std::vector<std::thread> threads;
    for (std::size_t rank = 0; rank < groups_.size(); ++rank)
      threads.emplace_back([&, rank] {
        try {
          run(groups_[rank]);
        } catch (const GroupError& error) {
          ended[rank].error = error;
        }
      });
    for (auto& each : threads) each.join();
    return ended;
  }

 private:
  static void check(const Ended& ended) {
    if (ended.error) throw *ended.error;
  }

  std::vector<Group> groups_;
  std::vector<std::string> endpoints_;
};

// A member that is a process. What it says comes through a pipe.
class Process {
 public:
  // `body` gets descriptors to read from and to write to.
  explicit Process(const std::function<void(int in, int out)>& body) {
    int in[2], out[2];
    if (::pipe(in) != 0 || ::pipe(out) != 0) std::abort();
    pid_ = ::fork();
    if (pid_ == 0) {
      ::close(in[1]);
      ::close(out[0]);
      body(in[0], out[1]);
      ::_exit(0);
    }
    ::close(in[0]);
    ::close(out[1]);
    to_ = in[1];
    from_ = out[0];
  }
  Process(const Process&) = delete;
  ~Process() {
    signal(SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    ::close(to_);
    ::close(from_);
  }
  void signal(int number) const { ::kill(pid_, number); }
  void say(const std::string& line) const {
    if (::write(to_, line.data(), line.size()) < 0) std::abort();
  }
  // Up to the end of a line; empty: it ended.
  [[nodiscard]] std::string line() const { return read_line(from_); }
  static std::string read_line(int fd) {
    std::string text;
    for (char c = 0; ::read(fd, &c, 1) == 1 && c != '\n';) text += c;
    return text;
  }

 private:
  pid_t pid_ = -1;
  int to_ = -1, from_ = -1;
};

}  // namespace paceline::testing
