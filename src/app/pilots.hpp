// Keeps as many pilots of Slurm's as the jobs of this server can use. Slurm is asked on a thread of its
// own, now and then; what follows from its answer (slurm/keeping.hpp) is done on the loop's, by the same
// ways as an operator's hand: invitations, drains, and a word that a node's machine is off. Nothing but
// the settings is kept beside that, in DIR/slurm, so a server that starts anew goes on.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "api/api.hpp"
#include "api/book_file.hpp"
#include "api/slurm.hpp"
#include "clock/clock.hpp"
#include "loop/errand.hpp"
#include "loop/timer.hpp"
#include "slurm/provider.hpp"

namespace paceline {

class Pilots final : public SlurmDesk {
 public:
  struct Options {
    std::filesystem::path directory;  // the server's
    std::string program;              // path of paceline, as nodes have it
    std::uint32_t uid = 0;            // the server's
    RemoteAccess remote;              // REQUIRES: machines may join
  };

  // Reads what is kept. `io`, `clock` and `controller` outlive it. Errors: those of BookFile.
  static Result<std::unique_ptr<Pilots>> open(boost::asio::io_context& io, Clock& clock,
                                              Controller& controller,
                                              std::unique_ptr<NodeProvider> provider,
                                              Options options);

  [[nodiscard]] SlurmStatus status() const override;
  void connect(PilotSettings settings, std::function<void(Result<void>)> done) override;
  Result<void> disconnect(const Principal& by) override;
  // Nodes that may still be asked for beside those that are there.
  [[nodiscard]] ComingNodes coming() const;
  [[nodiscard]] SlurmCost cost() const override;
  [[nodiscard]] std::vector<std::string> why(const Job& job) const override;

 private:
  // What Slurm is told on the thread, and what it answered.
  struct Request {
    std::optional<std::uint32_t> invitation = {};  // of a pilot to ask for
    std::string name = {}, script = {};
    std::uint64_t job = 0;  // else one to give back
  };
  struct Answer {
    std::uint32_t invitation = 0;
    std::optional<Error> error = {};
  };

  Pilots(boost::asio::io_context& io, Clock& clock, Controller& controller,
         std::unique_ptr<NodeProvider> provider, Options options);

  Result<void> read(const Json& json);
  Result<void> keep(const std::optional<PilotSettings>& settings, bool leaving);
  void settle_connect(const PilotSettings& settings, const Result<bool>& proven,
                      const std::function<void(Result<void>)>& done);

  void look_in(Duration span);
  void look();
  void take(Result<std::vector<Pilot>> listed);
  void act(const std::vector<PilotAction>& actions);
  void ask_for(std::uint32_t count, std::vector<Request>& requests);
  void drain(const DrainPilot& order);
  void leave_to_lease(const LeaveToLease& left);
  void count_over(const CountOver& over);
  void remember_lost(const std::string& node, const std::string& how);
  void send(std::vector<Request> requests);
  void hear(const std::vector<Answer>& answers);
  void refuse_for_a_while(std::string problem);

  [[nodiscard]] std::vector<KnownPilot> known(const std::vector<Pilot>& listed);
  [[nodiscard]] std::optional<PilotNode> node_of(std::uint32_t invitation);
  [[nodiscard]] Demand demand() const;
  [[nodiscard]] bool may_ever_start(const Job& job) const;
  [[nodiscard]] std::uint64_t slots_at_most() const;
  [[nodiscard]] std::uint64_t slots_there() const;
  [[nodiscard]] PilotCall call(std::string token) const;

  Clock& clock_;
  Controller& controller_;
  std::unique_ptr<NodeProvider> provider_;
  Options options_;
  BookFile file_;
  std::string server_;  // by which its pilots are called
  std::optional<PilotSettings> settings_;
  bool leaving_ = false, proven_ = false;
  std::vector<KnownPilot> pilots_;       // as of the last look
  std::string unanswered_, problem_;     // of Slurm's commands; of pilots
  std::map<std::string, Time> busy_at_;  // when something ran there last, by node
  std::set<std::uint64_t> given_back_;   // jobs
  std::map<JobId, std::string> lost_;    // by which pilot's end jobs were lost last
  std::optional<Time> ask_again_at_, grow_again_at_;
  Duration pause_;  // before Slurm is asked for more again
  Timer timer_;
  Errand errand_, connecting_;
};

}  // namespace paceline
