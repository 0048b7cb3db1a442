// What the tests of this folder share: a host in a fresh directory, turned by hand until something
// was observed.
#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/linux/host.hpp"
#include "clock/clock.hpp"

namespace paceline::agent {

class WallClock final : public Clock {
 public:
  Time now() override;
};

// A directory that is removed with all its content.
class TempDirectory {
 public:
  TempDirectory();
  ~TempDirectory();
  TempDirectory(const TempDirectory&) = delete;
  TempDirectory& operator=(const TempDirectory&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// Waits until the condition holds, at most half a minute; false if it never did.
bool eventually(const std::function<bool()>& condition);

// A name service that hangs for whom a test says. They have an account, as 'ann' has, about whom it answers.
class HeldNames {
 public:
  HeldNames();
  ~HeldNames() { release(); }
  HeldNames(const HeldNames&) = delete;
  HeldNames& operator=(const HeldNames&) = delete;

  // In place of find_uid(): 1007 is ann, 1008 whoever was held, all others are as on this machine.
  [[nodiscard]] AccountInquiries::Find find() const;
  void hold(const std::string& user);
  void release();
  // So often it was asked.
  [[nodiscard]] int asked() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

// A host and what it has told. Kills what still runs when the test is over.
class TestHost {
 public:
  explicit TestHost(const std::string& directory, HostOptions options = {});
  ~TestHost();
  TestHost(const TestHost&) = delete;
  TestHost& operator=(const TestHost&) = delete;

  LinuxHost& operator*() { return *host_; }
  LinuxHost* operator->() { return host_.get(); }

  // Runs the host until the condition holds.
  bool until(const std::function<bool()>& condition);
  void turn();
  // Drops the host as a crash would: nothing is ended.
  void crash();

  void start(const WorkerLaunch& launch) { host_->perform(Start{launch}); }
  // The observations of a kind, in order.
  template <class T>
  [[nodiscard]] std::vector<T> seen() const {
    std::vector<T> all;
    for (const Observation& one : observations_)
      if (const auto* match = std::get_if<T>(&one)) all.push_back(*match);
    return all;
  }
  // All observations since the last call; the calls below and above know nothing of them any more.
  std::vector<Observation> take() { return std::exchange(observations_, {}); }
  // Runs until the worker is gone and says how; fails the test if that never comes.
  WorkerGone gone(const ProcessKey& key);
  // Runs until the worker runs; 0 if it never did.
  pid_t running(const ProcessKey& key);

 private:
  void kill_all();

  boost::asio::io_context io_;
  WallClock clock_;
  std::unique_ptr<LinuxHost> host_;
  std::vector<Observation> observations_;
};

// Runs `test` in a process of its own in a new pid namespace with a /proc of its own, where nothing
// outside can be harmed; everything it leaves is killed at the end. What it returns, or how it
// ended instead; nothing where this machine doesn't let us.
std::optional<std::string> in_pid_namespace(const std::function<std::string()>& test);

ProcessKey key(std::uint32_t job, std::uint32_t generation = 1, std::int32_t rank = 0);
// A worker of one slot that runs `script` in a shell of its own making (its main process).
WorkerLaunch shell_worker(const ProcessKey& key, const std::string& script);
// Ends a worker in its claim as a newer version would: sealed, by a cause that this one does not know.
void write_unknown_ending(const std::string& claim, const ProcessKey& key);
std::string contents(const std::string& path);
// The pids in a file that a script wrote, once it is there.
bool runs(pid_t pid);

}  // namespace paceline::agent
