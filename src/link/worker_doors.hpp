// What a server reaches of a worker on its machine, by sockets in the directory of the agent there.
#pragma once

#include <filesystem>

#include "base/result.hpp"
#include "files/fd.hpp"
#include "model/ids.hpp"

namespace paceline {

enum class WorkerDoor {
  terminal,  // what it shows and takes
  stacks,    // what its threads are in now, as text that ends
};

// A socket that is connected to it, and doesn't block. Errors: unavailable: nobody listens there.
Result<UniqueFd> open_door(const std::filesystem::path& directory, const ProcessKey& worker,
                           WorkerDoor door);

}  // namespace paceline
