// Who may do what: the only place that says it. Every route names its action (api/routes.hpp), and
// what a role isn't given here, it may not do.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.hpp"
#include "model/job.hpp"
#include "model/principal.hpp"

namespace paceline {

enum class Action {
  see,           // what all may see: the queue, nodes, policies, events
  read_private,  // a job's command, logs, metrics, checkpoints and reports
  submit,
  cancel,
  control,  // pause, resume, resize
  attach,   // to a job's terminal
  set_rules,
  set_policy,   // set, try, promote, roll back
  load_policy,  // load and forget scripts
  prune_journal,
  give_tokens,   // make, list and revoke them
  invite_nodes,  // make, list and revoke invitations
  remove_nodes,
  drain_nodes,  // and let jobs start there again
  use_slurm,    // ask it for nodes, and give them back
  join,         // become a node
  be_a_node,    // dial in, and renew one's certificate
  send_checkpoints,
  shut_down,
};
inline constexpr Action kLastAction = Action::shut_down;

// Of whose jobs, or of whose server.
enum class Whose { nobodys, own, anybodys };

// The most that one of their roles gives them.
Whose whose(const Principal& principal, Action action);

// May they do it to something that is theirs? Errors: forbidden.
Result<void> allowed(const Principal& principal, Action action);
// To this job? Errors: forbidden.
Result<void> allowed(const Principal& principal, Action action, const Job& job);

// Whether the job is theirs.
bool owns(const Principal& principal, const Job& job);

}  // namespace paceline
