// Small files of a worker, beside its socket: its trainer-status token, the hostfile of its gang. They go
// with the worker.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace paceline::agent {

std::string token_path(std::string_view worker_socket);
std::string hostfile_path(std::string_view worker_socket);

// The socket and all files beside it.
std::vector<std::string> worker_files(std::string_view worker_socket);

// For the worker's user alone. Errors: storage, forbidden.
Result<void> write_worker_file(const std::string& path, std::string_view text, std::uint32_t uid);

}  // namespace paceline::agent
