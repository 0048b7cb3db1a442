// posix_spawn() for helpers of the agent, with what belongs to it: a helper leads a session of its own,
// so that no terminal's Ctrl-C reaches it and it can be killed with all that it starts, and begins with
// no signal blocked or ignored.
#pragma once

#include <spawn.h>

namespace paceline::agent {

struct SpawnActions {
  SpawnActions();
  ~SpawnActions();
  SpawnActions(const SpawnActions&) = delete;
  SpawnActions& operator=(const SpawnActions&) = delete;
  posix_spawn_file_actions_t value{};
};

struct SpawnAttributes {
  SpawnAttributes();
  ~SpawnAttributes();
  SpawnAttributes(const SpawnAttributes&) = delete;
  SpawnAttributes& operator=(const SpawnAttributes&) = delete;
  posix_spawnattr_t value{};
};

}  // namespace paceline::agent
