#include "agent/linux/spawn.hpp"

#include <csignal>

namespace paceline::agent {

SpawnActions::SpawnActions() { ::posix_spawn_file_actions_init(&value); }
SpawnActions::~SpawnActions() { ::posix_spawn_file_actions_destroy(&value); }

SpawnAttributes::SpawnAttributes() {
  ::posix_spawnattr_init(&value);
  sigset_t signals;
  ::sigemptyset(&signals);
  ::posix_spawnattr_setsigmask(&value, &signals);
  ::sigfillset(&signals);
  ::posix_spawnattr_setsigdefault(&value, &signals);
  ::posix_spawnattr_setflags(&value,
                             POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
}
SpawnAttributes::~SpawnAttributes() { ::posix_spawnattr_destroy(&value); }

}  // namespace paceline::agent
