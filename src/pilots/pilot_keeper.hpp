// Keeps as many pilots of Slurm's as the jobs of a server can use: what follows from each list of them
// (slurm/keeping.hpp) is done by the same ways as an operator's hand: invitations, drains, and a word that a
// node's machine is off. What only Slurm can do is handed back as requests. It keeps nothing that a server
// that starts anew would not find again in the book of nodes and in Slurm's list.
//
//   PilotKeeper keeper(clock, controller, ways);
//   keeper.serve(settings, false);
//   auto turn = keeper.take(provider.list(server));          // now and then
//   keeper.hear(answers_of(provider, turn.requests));        // if there are any
//
// Nothing here waits, or knows of a thread or a file.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "clock/clock.hpp"
#include "joining/node_book.hpp"
#include "scheduler/controller.hpp"
#include "slurm/keeping.hpp"

namespace paceline {

// A join token that was made for a pilot.
struct PilotToken {
  std::string digest;  // in hexadecimal
  std::string text;    // the secret
};

class PilotKeeper {
 public:
  struct Ways {
    NodeBook& book;
    // All connections of the node end now. Empty: there are none.
    std::function<void(std::string_view node)> cut = {};
    // As Reception::Ways says of it.
    std::function<Result<void>(std::string_view node, std::string_view by)> count_off;
    std::function<PilotToken()> make_token;
    std::string server = {};   // by which its pilots are called
    std::string program = {};  // path of paceline, as nodes have it
    std::string address = {};  // of the server
  };
  // What Slurm is to be told.
  struct Request {
    std::optional<std::uint32_t> invitation = {};  // of a pilot to ask for
    std::string name = {}, script = {};
    std::uint64_t job = 0;  // else one to give back
  };
  // What came of a request.
  struct Answer {
    std::uint32_t invitation = 0;  // 0: of one to give back
    std::optional<Error> error = {};
  };
  struct Turn {
    std::vector<Request> requests = {};  // to be made, in order, and then heard
    bool left = false;                   // Slurm has every node back
  };

  // REQUIRES: clock and controller outlive it.
  PilotKeeper(Clock& clock, Controller& controller, Ways ways);

  // From now on by these settings; `leaving`: Slurm is to be left, once jobs left its nodes. `since`: pilots of
  // earlier invitations were asked for by other settings, and are given back unless Slurm has started them.
  void serve(PilotSettings settings, bool leaving, std::uint32_t since = 0);
  // Slurm answered what `connect` asked: what stood in the way before is forgotten.
  void begin_anew();
  // It is left.
  void forget_settings() { settings_.reset(); }
  [[nodiscard]] const std::optional<PilotSettings>& settings() const { return settings_; }
  [[nodiscard]] bool leaving() const { return leaving_; }
  [[nodiscard]] std::uint32_t since() const { return since_; }
  // A node of Slurm's reached the server.
  [[nodiscard]] bool proven() const { return proven_; }
  void set_proven(bool proven) { proven_ = proven; }
  // What stands in the way now, in a sentence or two; empty: nothing.
  [[nodiscard]] const std::string& problem() const {
    return unanswered_.empty() ? problem_ : unanswered_;
  }
  // As of the last list, those that are not over.
  [[nodiscard]] const std::vector<KnownPilot>& pilots() const { return pilots_; }
  // Nodes that may still be asked for beside those that are there.
  [[nodiscard]] ComingNodes coming() const;
  // What Slurm has to do with a waiting job, in sentences.
  [[nodiscard]] std::vector<std::string> why(const Job& job) const;
  [[nodiscard]] PilotCall call(std::string token) const;

  // Slurm's list of this server's pilots, or why there is none. REQUIRES: there are settings.
  Turn take(const Result<std::vector<Pilot>>& listed);
  // What was not answered may have been taken: the next list tells.
  void hear(const std::vector<Answer>& answers);

 private:
  void act(const std::vector<PilotAction>& actions, std::vector<Request>& requests);
  void ask_for(std::uint32_t count, std::vector<Request>& requests);
  void drain(const DrainPilot& order);
  void leave_to_lease(const LeaveToLease& left);
  void count_over(const CountOver& over);
  bool count_off(const std::string& node, const CountOver& over);
  void remember_lost(const std::string& node, const std::string& how);
  void refuse_for_a_while(std::string problem);

  [[nodiscard]] std::vector<KnownPilot> known(const std::vector<Pilot>& listed);
  [[nodiscard]] std::optional<PilotNode> node_of(std::uint32_t invitation);
  [[nodiscard]] Demand demand() const;
  [[nodiscard]] bool is_elastic() const;
  [[nodiscard]] std::uint64_t starts_with(const Job& job) const;
  [[nodiscard]] bool may_ever_start(const Job& job) const;
  [[nodiscard]] bool outlasts_nodes(const Job& job) const;
  // In pieces of so many slots, each on one node.
  [[nodiscard]] std::uint64_t slots_at_most(std::uint64_t piece) const;
  [[nodiscard]] std::uint64_t slots_there(std::uint64_t piece) const;

  Clock& clock_;
  Controller& controller_;
  Ways ways_;
  std::optional<PilotSettings> settings_;
  bool leaving_ = false, proven_ = false;
  std::uint32_t since_ = 0;
  std::vector<KnownPilot> pilots_;             // as of the last look
  std::string unanswered_, problem_;           // of Slurm's commands; of pilots
  std::map<std::string, Time> busy_at_;        // when something ran there last, by node
  std::map<std::uint32_t, Time> known_since_;  // pilots, by invitation
  std::set<std::uint64_t> given_back_;         // jobs
  std::map<JobId, std::string> lost_;          // by which pilot's end jobs were lost last
  std::optional<Time> ask_again_at_, grow_again_at_;
  Duration pause_;  // before Slurm is asked for more again
};

}  // namespace paceline
