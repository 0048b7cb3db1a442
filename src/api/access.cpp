#include "api/access.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/check.hpp"

namespace paceline {
namespace {

struct Row {
  Action action;
  std::array<Whose, 6> whose;  // by role
  std::string_view refusal;    // told where it is nobody's
};

constexpr auto kNone = Whose::nobodys;
constexpr auto kOwn = Whose::own;
constexpr auto kAll = Whose::anybodys;

// clang-format off
constexpr std::array kTable = {
  //                           viewer user   oper.  admin  newc.  node
  Row{Action::see,           {kAll,  kAll,  kAll,  kAll,  kNone, kNone}, "Nothing here is shown to you."},
  Row{Action::read_private,  {kNone, kOwn,  kOwn,  kAll,  kNone, kNone}, "You see what all may see, and nothing of jobs' insides."},
  Row{Action::submit,        {kNone, kOwn,  kOwn,  kAll,  kNone, kNone}, "You may look, but not submit jobs."},
  Row{Action::cancel,        {kNone, kOwn,  kAll,  kAll,  kNone, kNone}, "You may look, but not cancel jobs."},
  Row{Action::control,       {kNone, kOwn,  kOwn,  kAll,  kNone, kNone}, "You may look, but not change jobs."},
  Row{Action::attach,        {kNone, kOwn,  kOwn,  kAll,  kNone, kNone}, "You may look, but not use jobs' terminals."},
  Row{Action::set_rules,     {kNone, kNone, kAll,  kAll,  kNone, kNone}, "The rules of a shared server are its operators' to set."},
  Row{Action::set_policy,    {kNone, kNone, kAll,  kAll,  kNone, kNone}, "The policies of a shared server are its operators' to choose."},
  Row{Action::load_policy,   {kNone, kNone, kAll,  kAll,  kNone, kNone}, "The policies of a shared server are its operators' to choose."},
  Row{Action::prune_journal, {kNone, kNone, kNone, kAll,  kNone, kNone}, "The journal of a shared server is its administrators' to prune."},
  Row{Action::give_tokens,   {kNone, kNone, kNone, kAll,  kNone, kNone}, "Tokens for a shared server are its administrators' to give."},
  Row{Action::invite_nodes,  {kNone, kNone, kNone, kAll,  kNone, kNone}, "Nodes of a shared server are its administrators' to invite."},
  Row{Action::remove_nodes,  {kNone, kNone, kNone, kAll,  kNone, kNone}, "Nodes of a shared server are its administrators' to remove."},
  Row{Action::drain_nodes,   {kNone, kNone, kAll,  kAll,  kNone, kNone}, "Nodes of a shared server are its operators' to drain."},
  Row{Action::use_slurm,     {kNone, kNone, kNone, kAll,  kNone, kNone}, "Slurm's nodes are a server's administrators' to ask for."},
  Row{Action::join,          {kNone, kNone, kNone, kNone, kOwn,  kNone}, "A machine joins by a join token, and by nothing else."},
  Row{Action::be_a_node,     {kNone, kNone, kNone, kNone, kNone, kOwn},  "Only the agent of a node that joined asks for this."},
  Row{Action::send_checkpoints, {kNone, kNone, kNone, kAll, kNone, kOwn}, "Checkpoints are sent by the agents of nodes."},
  Row{Action::shut_down,     {kNone, kNone, kNone, kAll,  kNone, kNone}, "A shared server is its administrators' to end."},
};
// clang-format on

const Row& row(Action action) {
  const auto found = std::ranges::find(kTable, action, &Row::action);
  check(found != kTable.end(), "every action has its row");
  return *found;
}

// What people and machines are told who have no role for it.
Error refusal(const Principal& principal, Action action) {
  if (principal.is(Role::newcomer))
    return {ErrorCode::forbidden, "A join token is good for joining, and for nothing else.",
            "Log in with a user's token: 'paceline login ADDR:PORT'.", Retry::useless};
  if (principal.is(Role::node))
    return {ErrorCode::forbidden,
            "A node's certificate is good for its agent, and for nobody else.",
            "Log in with a user's token: 'paceline login ADDR:PORT'.", Retry::useless};
  const bool of_machines = action == Action::join || action == Action::be_a_node;
  return {ErrorCode::forbidden, std::string(row(action).refusal),
          of_machines ? "'paceline node invite' says what to type on the other machine."
                      : "Ask root, or whoever has a token with that role.",
          Retry::useless};
}

}  // namespace

Whose whose(const Principal& principal, Action action) {
  auto most = Whose::nobodys;
  for (const auto role : principal.roles) {
    most = std::max(most, row(action).whose.at(static_cast<std::size_t>(role)));
  }
  return most;
}

Result<void> allowed(const Principal& principal, Action action) {
  if (whose(principal, action) != Whose::nobodys) return {};
  return fail(refusal(principal, action));
}

Result<void> allowed(const Principal& principal, Action action, const Job& job) {
  if (auto any = allowed(principal, action); !any) return any;
  if (whose(principal, action) == Whose::anybodys || owns(principal, job)) return {};
  return fail(ErrorCode::forbidden,
              fmt::format("Job {} belongs to {}.", job.id.value, job.spec->user),
              "Only its owner and root may do that.");
}

bool owns(const Principal& principal, const Job& job) {
  return principal.uid && *principal.uid == job.spec->uid;
}

}  // namespace paceline
