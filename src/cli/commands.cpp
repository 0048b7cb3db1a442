#include "cli/commands.hpp"

#include <vector>

namespace paceline {

// Each is in a file of cli/commands; those that tell of all commands are in completion.cpp.
Command run_command();
Command submit_command();
Command plan_command();
Command queue_command();
Command top_command();
Command show_command();
Command logs_command();
Command timeline_command();
Command stacks_command();
Command attach_command();
Command cancel_command();
Command pause_command();
Command resume_command();
Command resize_command();
Command wait_command();
Command why_command();
Command nodes_command();
Command node_show_command();
Command node_invite_command();
Command node_invitations_command();
Command node_revoke_command();
Command drain_command();
Command undrain_command();
Command node_remove_command();
Command users_command();
Command stats_command();
Command limits_command();
Command rules_command();
Command events_command();
Command journal_list_command();
Command journal_export_command();
Command journal_prune_command();
Command backup_command();
Command policy_list_command();
Command policy_show_command();
Command policy_set_command();
Command policy_load_command();
Command policy_forget_command();
Command policy_try_command();
Command policy_diff_command();
Command policy_promote_command();
Command policy_rollback_command();
Command policy_drop_command();
Command simulate_command();
Command up_command();
Command down_command();
Command agent_command();
Command login_command();
Command whoami_command();
Command context_list_command();
Command context_use_command();
Command context_remove_command();
Command token_create_command();
Command token_list_command();
Command token_revoke_command();
Command slurm_connect_command();
Command slurm_status_command();
Command slurm_disconnect_command();
Command completion_command();
Command man_page_command();
Command version_command();

std::span<const Command> commands() {
  static const std::vector<Command> table = {
      up_command(),
      down_command(),
      agent_command(),
      run_command(),
      submit_command(),
      plan_command(),
      queue_command(),
      top_command(),
      show_command(),
      why_command(),
      logs_command(),
      timeline_command(),
      stacks_command(),
      attach_command(),
      wait_command(),
      cancel_command(),
      pause_command(),
      resume_command(),
      resize_command(),
      nodes_command(),
      node_show_command(),
      node_invite_command(),
      node_invitations_command(),
      node_revoke_command(),
      node_remove_command(),
      drain_command(),
      undrain_command(),
      slurm_connect_command(),
      slurm_status_command(),
      slurm_disconnect_command(),
      users_command(),
      stats_command(),
      limits_command(),
      rules_command(),
      policy_list_command(),
      policy_show_command(),
      policy_set_command(),
      policy_load_command(),
      policy_forget_command(),
      policy_try_command(),
      policy_diff_command(),
      policy_promote_command(),
      policy_rollback_command(),
      policy_drop_command(),
      simulate_command(),
      events_command(),
      journal_list_command(),
      journal_export_command(),
      journal_prune_command(),
      backup_command(),
      login_command(),
      whoami_command(),
      context_list_command(),
      context_use_command(),
      context_remove_command(),
      token_create_command(),
      token_list_command(),
      token_revoke_command(),
      completion_command(),
      man_page_command(),
      version_command(),
  };
  return table;
}

}  // namespace paceline
