// The agent: holds what a server asked of this machine's workers, makes the host do it, and tells
// the server what was observed. A state machine without thread, socket or clock: everything that
// comes in waits for step(now), which acts, sends and sets timers.
//
//   Agent agent(host);
//   agent.on_wake([&] { post([&] { agent.step(clock.now()); }); });
//   agent.start();                        // adopts what earlier agents left
//   LocalLink link(engine, agent);
//   link.open();
//
// What it does by itself: a stop's notice, the wait for its grace, and the kill; kills are repeated
// until nothing is left. A machine that can't start a worker for want of its own resources
// (Cause::refused) is held back: for a time that grows it refuses every start, and says so in its
// description; the first worker that comes up afterwards ends the growing. Without a connection it
// goes on with what it was asked and keeps what there is to tell, which the host bounds: it observes
// no more until it hears what is stored.
//
// Why a process is started at most once, ever:
//   1. A host starts no worker that has a claim, and a claim is durable before the worker is
//      (host.hpp).
//   2. A claim is forgotten only after DiscardWorker, which the server sends only once the journal
//      says that the process ended or is in no gang any more. Both are for ever: ended stays ended,
//      only a member goes on in the next gang, generations and so names are never reused.
//   3. A server sends StartWorker only while its state says `assigned`, hence never after 2; and
//      one that an earlier server, or the same one earlier, had sent can't arrive late: a session
//      delivers in order and once, another session's frames are dropped, and whatever an earlier
//      session started is among the claims of Hello, which the server compares first.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "agent/host.hpp"
#include "wire/agent_link.hpp"
#include "wire/message_stream.hpp"

namespace paceline::agent {

inline constexpr Duration kKillAgainFirst = std::chrono::seconds{2};  // doubles up to the next
inline constexpr Duration kKillAgainMax = std::chrono::seconds{60};
inline constexpr int kRenewalsOfLease = 10;  // while the server is heard
inline constexpr std::size_t kFencesMax = 4'096;
// How long a machine that could not start a worker starts nothing; doubles with each trial that
// fails, up to the second.
inline constexpr Duration kRefusalFirst = std::chrono::seconds{1};
inline constexpr Duration kRefusalMax = std::chrono::minutes{5};

class Agent final : public AgentEnd {
 public:
  // The host must outlive the agent.
  explicit Agent(Host& host);

  // Reads the host's claims. Called once, before anything else.
  void start();

  // The host's describe() may have changed.
  void devices_changed();

  void connected(Session session) override;
  void disconnected() override;
  void receive(ServerFrame frame) override;
  void on_send(std::function<void(AgentFrame)> send) override { send_ = std::move(send); }
  void on_wake(std::function<void()> wake) override { wake_ = std::move(wake); }
  void step(Time now) override;
  [[nodiscard]] std::optional<Time> next_due() const override;

  // Workers that have a claim, ended ones too.
  [[nodiscard]] std::size_t claims() const { return workers_.size(); }

 private:
  struct Worker {
    std::int64_t pid = 0;  // 0: its main process does not run yet
    std::vector<std::uint32_t> slots;
    bool noticed = false;
    std::optional<WorkerGone> end;
    std::optional<Time> kill_at;
    Duration kill_wait{};                // between the last kill and the next; 0: none was tried
    std::uint64_t refusals = 0;          // of this machine, when its start was asked for
    Generation ready = {}, stands = {};  // as it said last
  };
  struct Connected {
    Session session;
  };
  struct Disconnected {};
  struct DevicesChanged {};
  using Input = std::variant<Connected, Disconnected, DevicesChanged, ServerFrame, Observation>;

  void add(Input input);

  void on(Connected connected);
  void on(Disconnected);
  void on(DevicesChanged);
  void on(const ServerFrame& frame);
  void on(const Observation& observation);

  void on(const WorkerRuns& runs);
  void on(const WorkerGone& gone);
  void on(const WorkerReport& report);
  void on(const CheckpointSeen& checkpoint);
  void on(const ModelSeen& model);
  void on(const WorkerWarning& warning);
  void on(const WorkerPlaced& placed);

  void on(const StartWorker& start);
  void on(const StopWorker& stop);
  void on(const FreezeWorker& freeze);
  void on(const ThawWorker& thaw);
  void on(const ShouldStop& should_stop);
  void on(const DiscardWorker& discard);
  void on(const FenceJob& fence);
  void on(const LimitWorker& limited);
  void on(const EnrolWorker& enrolled);
  void on(const LeaveGang& leave);
  void on(const KeepCheckpoint& keep);

  void give_notice(const ProcessKey& key, Worker& worker, std::int32_t signal);
  void kill(const ProcessKey& key, Worker& worker);
  void set_timer(const ProcessKey& key, Worker& worker, std::optional<Time> at);
  void fire_timers();
  // The worker, if something of it may be left.
  Worker* find_alive(const ProcessKey& key);
  void hold_back(const std::string& why);
  void tell_node();
  [[nodiscard]] NodeSpec describe();
  [[nodiscard]] bool fenced(const ProcessKey& key) const;
  Hello hello();
  void greet();
  void tell_ends_again();
  void renew_leases();
  void forget_stored(std::uint64_t durable);
  void send_frames();

  Host& host_;
  std::function<void(AgentFrame)> send_;
  std::function<void()> wake_;
  Time now_;
  std::deque<Input> inputs_;
  NodeSpec node_;  // as told last
  std::map<ProcessKey, Worker> workers_;
  std::set<std::pair<Time, ProcessKey>> timers_;  // each worker's kill_at
  std::map<JobId, Generation> fences_;            // of this session
  std::optional<Refusal> refusal_;                // while it is held back
  Duration refusal_pause_{};                      // the last one; 0: none since a worker came up
  std::uint64_t refusals_ = 0;                    // that held it back, ever
  std::optional<Session> session_;
  std::optional<Time> renew_at_;  // while there is a session whose Hello was taken
  Outbox<AgentMessage> outbox_;
  Inbox<ServerMessage> inbox_;
};

}  // namespace paceline::agent
