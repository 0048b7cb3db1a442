// A machine made of numbers: it does what agent::Host promises, with workers that run, report,
// save, fail, hang, ignore notices and resist kills by chance. Claims and processes outlive the
// agent; claims outlive a reboot too.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agent/host.hpp"
#include "base/rng.hpp"
#include "faults/event_queue.hpp"
#include "faults/faulty_ports.hpp"
#include "faults/ledger.hpp"

namespace paceline::faults {

// What a worker does, drawn when it is started.
struct Habits {
  enum class OnNotice { saves, leaves, fails, hangs };

  Duration setup{};           // before it runs
  bool never_runs = false;    // hangs in its setup
  Cause end = Cause::exited;  // how it ends by itself
  std::int32_t exit_code = 0;
  Duration work{};  // until then
  Duration report_every{};
  OnNotice on_notice = OnNotice::saves;
  Duration leaving{};  // from the notice to its end
  Duration dying{};    // from a kill to the last of its processes
  int kills = 1;       // as many does it take
};

Habits draw_habits(Rng& rng, bool calm);

class FaultyHost final : public agent::Host {
 public:
  // What it stamps has the time of `clock`, a machine's; what happens goes by the queue's.
  // It observes at most so many reports and checkpoints that are not stored. `boots`: what its boots are
  // called by; empty: by its name.
  FaultyHost(EventQueue& queue, Clock& clock, Ledger& ledger, Rng rng, NodeSpec node,
             std::size_t unstored_max = agent::kUnstoredMax, std::string boots = {});

  // ---- agent::Host ----
  NodeSpec describe() override { return node_; }
  std::string boot_id() override;
  std::vector<Claim> claims() override;
  void perform(const agent::Action& action) override;
  void stored(const ProcessKey& key, std::uint64_t report) override;
  void on_observation(std::function<void(agent::Observation)> handler) override {
    tell_ = std::move(handler);
  }

  // What sends the checkpoints that the server asks for; until then none is sent.
  void on_keep(std::function<void(const WantedCheckpoint&)> keep) { keep_ = std::move(keep); }

  // ---- what befalls it ----
  void agent_died();
  void reboot();
  // The supervisor of one of its workers, if there is any.
  void supervisor_died();
  // Somebody removes the claim of a worker that is known to run: its supervisor ends it, and the next
  // agent knows nothing of it. Of one that nobody was told of the server would believe that its start
  // never arrived.
  void claim_lost(const std::function<bool(const ProcessKey&)>& is_known);
  // A slot becomes unusable, or usable again; or the machine has fewer slots than before, or more. A
  // reboot may do the latter, too. With either it may come to have other devices, memory or cores,
  // or to stand elsewhere.
  void change_devices();
  // While the machine lacks something (agent/wants.hpp) nothing starts: some workers don't get a
  // claim, of others the supervisor finds out. REQUIRES: one of the wants' error numbers.
  void set_want(std::optional<int> error_number) { want_ = error_number; }
  // Where strangers take what gangs may be given.
  [[nodiscard]] FaultyPorts& ports() { return ports_; }
  // What their leases don't cover any more is ended. Those that an agent renews count while the
  // connection carries: a real one ends where nothing comes through.
  void hold_leases(bool carries);
  // From now on workers behave, and those that hang go on.
  void calm();

  [[nodiscard]] std::size_t claim_count() const { return workers_.size(); }
  void each_claimed(const std::function<void(const ProcessKey&)>& visit) const {
    for (const auto& [key, worker] : workers_) visit(key);
  }
  [[nodiscard]] int boots() const { return boots_; }
  // Somebody is alive there.
  [[nodiscard]] bool has_workers() const;

 private:
  struct Worker {
    Claim claim;
    Habits habits;
    Duration left{};  // of its work
    Time since;       // when it went on last
    bool frozen = false;
    bool orphaned = false;   // its supervisor died
    bool unclaimed = false;  // its claim is gone
    Generation generation;   // that it was told of last
    bool joins = false;      // others, which it has not met yet
    bool stalls = false;     // before it is ready to
    std::optional<RunLimit> limit;
    std::optional<Duration> lease;
    Time leased_at;
    std::optional<Time> counts_since;  // against its limit
    bool out_of_time = false;          // its supervisor ended it
    int killed = 0;
    std::uint64_t reports = 0;
    std::uint64_t step = 0;
    Duration ended{};                     // since the boot
    int ended_in = 0;                     // of the boots
    std::vector<agent::Observation> log;  // reports and checkpoints that are not stored yet
    std::size_t told = 0;                 // of them
    bool end_told = false;
    std::uint64_t version = 0;  // what was put into the queue for an earlier one is void
    [[nodiscard]] bool runs() const { return claim.pid != 0 && !claim.gone; }
  };

  void on(const agent::Start& start);
  void on(const agent::GiveNotice& notice);
  void on(const agent::Kill& kill);
  void on(const agent::Freeze& freeze);
  void on(const agent::Thaw& thaw);
  void on(const agent::Discard& discard);
  void on(const agent::SetShouldStop& should_stop);
  void on(const agent::SetLimit& limited);
  void on(const agent::SetMembership& enrolled);
  void on(const agent::Dismiss& dismissed);
  void on(const agent::Keep& keep) {
    if (keep_) keep_(keep.checkpoint);
  }
  void on(const agent::RenewLeases& renewed);

  void change_size();
  void change_parts();
  void later(const ProcessKey& key, Duration span, void (FaultyHost::*what)(Worker&));
  // False: it told that the start is refused.
  bool take_ports(const WorkerLaunch& launch);
  void run(Worker& worker);
  void refuse(Worker& worker);
  static bool goes_on_in_place(const Worker& worker);
  void join(Worker& worker);
  void meet(Worker& worker);
  void place(Worker& worker, Generation ready, Generation stands);
  void depart(Worker& worker);
  void go_on(Worker& worker);
  void work(Worker& worker);
  void finish(Worker& worker);
  void take_notice(Worker& worker);
  void stop_counting(Worker& worker);
  void watch_limit(Worker& worker);
  void look_at_limit(Worker& worker);
  void leave(Worker& worker);
  void die(Worker& worker);
  void lose(Worker& worker);
  Worker* draw_running();
  void report(Worker& worker);
  void save(Worker& worker);
  void publish(Worker& worker);
  void end(Worker& worker, Cause cause, std::optional<std::int32_t> exit_code, std::int32_t signal,
           std::string message, bool alone = false);
  void warn(const Worker& worker);
  void tell(agent::Observation observation);
  [[nodiscard]] Duration since_boot() { return clock_.now() - clock_.boot()->at; }
  void write(Worker& worker, agent::Observation observation);
  void read_logs();
  void read_log(Worker& worker);
  void tell_ends();
  Worker* find_alive(const ProcessKey& key);
  Worker* find_supervised(const ProcessKey& key);

  EventQueue& queue_;
  Clock& clock_;
  Ledger& ledger_;
  Rng rng_;
  Rng parts_;  // what it is made of is drawn from it
  NodeSpec node_;
  const std::string boots_as_;
  FaultyPorts ports_;
  const std::size_t unstored_max_;
  std::size_t unstored_ = 0;  // of what was told
  const NodeSpec first_;      // what it was at first, and is again in the end
  bool calm_ = false;
  bool carries_ = false;  // its connection, as was found last
  std::optional<int> want_;
  int boots_ = 1;
  std::int64_t last_pid_ = 100;
  std::map<ProcessKey, Worker> workers_;
  std::function<void(agent::Observation)> tell_;
  std::function<void(const WantedCheckpoint&)> keep_;
};

}  // namespace paceline::faults
