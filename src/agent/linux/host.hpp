// The machine under an agent, as Linux has it: processes under supervisors, control groups,
// devices, logs, worker sockets.
//
//   auto host = LinuxHost::open(io, clock, {.directory = "/var/lib/paceline"});
//   (*host)->on_observation([](Observation seen) { … });
//   for (const Claim& claim : (*host)->claims()) …         // adopts what still runs
//   (*host)->perform(Start{launch});
//
// Everything happens on the one thread that runs `io`; observations are handed over from its
// handlers. Destroying the host
// ends nothing: workers run on under their supervisors.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/host.hpp"
#include "agent/linux/account_inquiries.hpp"
#include "agent/linux/accounts.hpp"
#include "agent/linux/device_lock.hpp"
#include "agent/linux/gang_reach.hpp"
#include "agent/linux/health_check.hpp"
#include "agent/linux/job_directories.hpp"
#include "agent/linux/log_file.hpp"
#include "base/result.hpp"
#include "clock/clock.hpp"

namespace boost::asio {
class io_context;
}

namespace paceline::agent {

struct HostOptions {
  std::string directory;  // the server's directory, absolute and real; what is ours lies in agent/,
                          // logs/ and run/ below it
  // Runs supervise_main(): the program itself with its hidden sub-command.
  std::vector<std::string> supervisor = {"/proc/self/exe", "supervise"};
  std::optional<std::uint32_t>
      cpu_slots;  // this many CPU slots and no devices, instead of what is found
  std::optional<std::string> lent_gpus = {};  // no other devices (Devices)
  // Bytes of memory that jobs may use in all; nothing: what the machine and the groups above leave.
  std::optional<std::uint64_t> memory_bytes = {};
  std::uint64_t worker_processes = 0;        // and threads that one worker may have; 0: unlimited
  std::uint64_t logs_per_user = 0;           // bytes of all logs of one user; 0: unlimited
  std::uint64_t logs_per_job = 0;            // the same of one job
  std::uint64_t log_at_end = 128U << 20;     // bytes that are read of a log once its worker ended
  std::size_t checkpoint_entries = 100'000;  // that a look for checkpoint files goes through
  // After which a gang is told that none of its workers has opened a port (rendezvous.hpp).
  std::chrono::milliseconds rendezvous_patience = std::chrono::minutes{1};
  std::string node_name;  // empty: the machine's host name
  // Where devices are locked against other servers of the machine.
  LockDirectories lock_directories = {};
  // Where ports are; empty: port_lock_directories().
  std::vector<std::string> port_lock_directories = {};
  std::string address = "127.0.0.1";  // where other workers of a gang reach this node
  std::string rack, network_switch;   // where it stands; empty: unknown
  std::map<std::string, std::string> labels;
  std::string health_check;  // the owner's own, a shell command; empty: none
  HealthCheckTimes health_check_times = {};
  ReachTimes reach_times = {};
  std::optional<Duration> lease;  // NodeSpec::lease
  ShipSource ships = {};          // of what travels with jobs
  // Sends a checkpoint that lies on this machine alone to the server; its uid is that of this machine.
  // Empty: none are sent.
  std::function<void(WantedCheckpoint)> keep = {};
  std::string runtime;  // the folder with the Python package that scripts may import; empty: none
  // by_name: this machine is not the server's. What is missing for a job is told with the node's name.
  Accounts accounts = Accounts::as_told;
  // Called on other threads; what it works on is its own.
  AccountInquiries::Find find_uid = agent::find_uid;
};

class LinuxHost final : public Host {
 public:
  // Makes the directories and starts the supervisors' nursery. Errors: storage, forbidden,
  // internal.
  static Result<std::unique_ptr<LinuxHost>> open(boost::asio::io_context& io, Clock& clock,
                                                 HostOptions options);
  ~LinuxHost() override;

  NodeSpec describe() override;
  std::string boot_id() override;
  std::vector<Claim> claims() override;
  void perform(const Action& action) override;
  void stored(const ProcessKey& key, std::uint64_t report) override;
  void on_observation(std::function<void(Observation)> handler) override;

  // Called when describe() would say something else than before: a device was taken or given back
  // by others or broke, looked at every few seconds on machines with devices; a user turned out to have
  // no account, or got one; the machine became unfit for new workers, or fit again; a worker that ran
  // unwatched, for want of a sound claim, is over.
  void on_devices_changed(std::function<void()> handler);

  // Logs below this directory that others than its workers wrote since the last call (nodes send theirs
  // to the server's), each with its job's own limit, 0: the machine's. They are held to the limits,
  // too. Cheap; may be called several times a second.
  void hold_logs_of_others(const std::map<LogKey, std::uint64_t>& logs);
  // Directories that travelled here, and the end of one: its job is over.
  [[nodiscard]] std::set<JobId> jobs_with_directories() const;
  void remove_directory_of(JobId job);
  // Where other machines reach this one, from the next describe() on.
  void reached_at(std::string address);

  // What was asked of a worker but can't be held on this machine, in sentences for `up` to print.
  [[nodiscard]] std::vector<std::string> not_enforced() const;

 private:
  struct Impl;
  explicit LinuxHost(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace paceline::agent
