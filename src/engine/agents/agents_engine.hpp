// The engine for plain machines: the server's side of the agent protocol. It keeps a copy of what
// the state wants of every worker and of what every agent holds, and tells agents the difference;
// what agents tell becomes events. No thread, no socket: the driver carries frames (ServerEnd) and
// calls step() when next_due() has come.
//
//   AgentsEngine engine(clock, [&](JobId job) { return store.launch(job); }, {});
//   Controller controller(store, engine, clock, policies, options);
//   controller.recover();   // the engine learns the state; before that it keeps frames waiting
//   LocalLink link(engine, agent);
//   link.open();
//
// Cost: act() is O(workers of the given jobs), a frame O(log), Hello O(claims and seats of the
// node).
//
// What it does when, for a worker that the state seats on a node whose agent is connected:
//   not among the claims, `assigned`, no stop  → started, once nothing is left in its slots
//                                                (at most once, ever: agent.hpp proves it)
//   not among the claims, `assigned`, a stop   → WorkerEnded with the stop's cause: it never started
//   not among the claims, `running`            → WorkerEnded{node_lost}
//   among the claims, running                  → frozen, thawed or told to stop, as the state wants;
//                                                told its place, if it was born into another generation
//   among the claims, gone                     → WorkerEnded
//   leaves a gang that goes on                 → told so, and killed after its grace
//   of a gang that forms in place              → started like others, to join it; WorkerReady once it says
//                                                that it can
// and for a claim that the state does not want: killed, then discarded.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "clock/clock.hpp"
#include "engine/agents/gang_view.hpp"
#include "engine/agents/node_view.hpp"
#include "engine/engine.hpp"
#include "wire/agent_link.hpp"

namespace paceline {

// What an agent says was longer ago was so long ago.
inline constexpr Duration kToldLateMax = std::chrono::hours{24 * 30};
// A node's workers count as lost so long after its connection ended: by then their machine has ended
// them, however late it noticed, and though its clock may be slower by a twentieth.
constexpr Duration lost_after(Duration lease) {
  return lease + lease / 20 + std::chrono::seconds{30};
}
// An end that was told later than this is told with how long it was unseen.
inline constexpr Duration kSeenWithin = std::chrono::seconds{1};

class AgentsEngine final : public Engine, public ServerEnd {
 public:
  struct Options {
    // A node counts as down this long after its connection ended: nothing more is placed there.
    Duration down_after = std::chrono::seconds{5};
    // What was told and is not durable yet; while there is more, agents keep what they have to
    // tell.
    std::size_t news_max = 10'000;
    // The number of the newest report of a process that is stored; 0: there is none. Empty: what an
    // earlier server was told is told again.
    std::function<std::uint64_t(const ProcessKey&)> newest_report = {};
    // Does the server have a copy of a checkpoint, by the name of its ship? Asked of each that the state knows at
    // the recovery: what it lost, the state is told of. Empty: it has all.
    std::function<bool(std::uint32_t uid, const std::string& ship)> has_copy = {};
    // Of this server: gangs of servers that share machines seldom ask for the same ports.
    std::uint64_t ports_salt = 0;
  };
  // Where what starts a job's workers is kept.
  using LaunchSource = std::function<Result<LaunchSpec>(JobId)>;

  AgentsEngine(Clock& clock, LaunchSource launches, Options options);
  ~AgentsEngine() override;

  // ---- Engine ----
  // Hands everything over once; the caller keeps it until it is durable.
  Observed observe() override;
  void committed() override;
  void act(const State& state, std::span<const JobId> jobs) override;
  void left(std::string_view name) override;
  void on_news(std::function<void()> wake) override { wake_ = std::move(wake); }

  // ---- ServerEnd ----
  void connected(Session session) override;
  void disconnected(Session session) override;
  void receive(AgentFrame frame) override;
  void on_send(std::function<void(ServerFrame)> send) override { send_ = std::move(send); }
  void step() override;
  [[nodiscard]] std::optional<Time> next_due() const override;

  // Nodes whose agent is connected.
  [[nodiscard]] std::size_t connected_nodes() const;

  // The word of `by` that a machine is off: its workers count as lost now, and are killed should it
  // come back. Errors: not_found; conflict: it is heard.
  Result<void> count_off(std::string_view node, std::string_view by);

  // What that node says became of a checkpoint that it was asked for (KeepCheckpoint). Errors: conflict: it
  // isn't asked for (any more).
  Result<void> take_kept(std::string_view node, const KeptCheckpoint& kept);
  // Is that one asked of that node?
  [[nodiscard]] bool wants(std::string_view node, const ProcessKey& by, std::uint64_t report) const;

 private:
  // ---- connections (connections.cpp) ----
  void learn_nodes(const State& state);
  void serve(const AgentFrame& frame);
  void greet(const AgentFrame& frame, const Hello& hello);
  static bool is_taken(const NodeView& node, const NodeSpec& by);
  static void turn_away(NodeView& node, Session session);
  void note_lease(NodeView& node) const;
  NodeView& node_named(const std::string& name);
  void adopt_claims(NodeView& node, const Hello& hello);
  void tell_node(NodeView& node, NodeSpec spec);
  void leave(NodeView& node);
  void count_down(NodeView& node);
  void count_lost(NodeView& node, const std::string& why, bool leased_only);
  void flush(NodeView& node);
  void set_timer(NodeView& node);

  // ---- what agents tell (connections.cpp) ----
  void take_messages(NodeView& node);
  void note_taken(NodeView& node);
  void on(NodeView& node, const Hello& hello);
  void on(NodeView& node, const NodeChanged& changed);
  void on(NodeView& node, const WorkerRuns& runs);
  void on(NodeView& node, const WorkerReport& report);
  void on(NodeView& node, const CheckpointSeen& checkpoint);
  void on(NodeView& node, const ModelSeen& seen);
  void on(NodeView& node, const WorkerWarning& warning);
  void on(NodeView& node, const WorkerPlaced& placed);
  void on(NodeView& node, const WorkerGone& gone);
  // What the agent tells with its own time, by the server's.
  static void note_clock(NodeView& node, const AgentFrame& frame, Time now);
  [[nodiscard]] Time when(const NodeView& node, Time told) const;
  [[nodiscard]] Time until_here(const NodeView& node, const Refusal& refusal) const;
  void tell(Event event);
  void tell_started(const ProcessKey& key, SeatView& seat, std::int64_t pid);
  void tell_ended(const ProcessKey& key, SeatView& seat, Ending ending);

  // ---- checkpoints that lie on one node (keeping.cpp) ----
  // Of a job: as it was acknowledged, and whether its node was asked in this session.
  struct Wanted {
    NodeId node;
    Checkpoint checkpoint;
    std::shared_ptr<const JobSpec> spec;
    bool asked = false;
  };
  void want_checkpoints(const State& state, std::span<const JobId> jobs, bool first);
  void want_checkpoint(const State& state, JobId job, bool again);
  void want(const Job& job, const Checkpoint& missing);
  void miss_copies(const State& state, const Job& job);
  void ask_for_checkpoints(NodeView& node);
  void lose_checkpoints(const NodeView& node);
  [[nodiscard]] const Wanted* find_wanted(std::string_view node, const ProcessKey& by,
                                          std::uint64_t report) const;

  // ---- wanted against held (workers.cpp) ----
  void take_view(std::optional<GangView> next, JobId job, bool first);
  void take_seats(GangView gang, bool first, std::set<std::pair<NodeId, ProcessKey>>& touched);
  void reconcile(NodeView& node, const ProcessKey& key);
  void reconcile_unwanted(NodeView& node, const ProcessKey& key);
  void reconcile_absent(NodeView& node, const GangView& gang, const ProcessKey& key,
                        SeatView& seat);
  void reconcile_away(NodeView& node, const ProcessKey& key, SeatView& seat);
  void reconcile_present(NodeView& node, GangView& gang, const ProcessKey& key, SeatView& seat,
                         ClaimView& claim);
  void enrol(NodeView& node, const GangView& gang, const ProcessKey& key, ClaimView& claim);
  void hear(GangView& gang, const ProcessKey& key, SeatView& seat, const ClaimView& claim);
  void stop(NodeView& node, const GangView& gang, const ProcessKey& key, ClaimView& claim,
            const std::optional<Stop>& stop, Time deadline);
  void start(NodeView& node, const GangView& gang, const ProcessKey& key, SeatView& seat);
  void settle_held(NodeView& node);
  void fence(NodeView& node, const ProcessKey& key, ClaimView& claim);
  [[nodiscard]] Error out_of_reach(const GangView& gang, std::size_t rank) const;
  // REQUIRES: kit_ is its gang's.
  [[nodiscard]] std::vector<GangPeer> peers_of(const GangPlace& place) const;
  Result<WorkerLaunch> launch_of(const GangView& gang, const ProcessKey& key);
  [[nodiscard]] std::optional<std::uint32_t> port_of(const GangView& gang) const;
  [[nodiscard]] bool forms_in_place(const GangView& gang) const;
  GangView* find_gang(const ProcessKey& key);
  // The seat of a worker that has not ended in the state; nullptr if there is none.
  SeatView* find_seat(const ProcessKey& key);
  // If it is on this node: a node is heard about its own workers alone.
  SeatView* find_seat(const NodeView& node, const ProcessKey& key);

  // Of the gang whose workers are being started: made once for all of them.
  struct StartKit {
    JobId job;
    Generation generation;
    std::vector<GangPlace> places;
    std::vector<NodeId> nodes;  // by group rank
    Result<LaunchSpec> launch;
  };

  Clock& clock_;
  LaunchSource launches_;
  Options options_;
  std::function<void()> wake_;
  std::function<void(ServerFrame)> send_;

  bool recovered_ = false;        // act() was called: the state is known
  bool acting_ = false;           // it is being called
  std::set<ProcessKey> unheard_;  // that said something before the state was as far
  std::deque<AgentFrame> early_;  // came before that
  std::deque<NodeView> nodes_;    // by id
  std::map<std::string, NodeId, std::less<>> names_;
  std::map<Session, std::optional<NodeId>> sessions_;
  std::unordered_map<JobId, GangView> gangs_;
  std::set<std::pair<Time, NodeId>> timers_;
  std::optional<StartKit> kit_;
  std::map<JobId, std::deque<Wanted>> wanted_;  // the newest last; those before it are on their way
  bool alone_ = true;  // there is one node: nothing that lies there is missing anywhere

  Observed news_;
  std::size_t handed_over_ =
      0;  // events and points that observe() told and committed() has not confirmed
  std::set<NodeId> fresh_;        // nodes that told something since the last observe()
  std::set<NodeId> unconfirmed_;  // and until it, to be confirmed
};

}  // namespace paceline
