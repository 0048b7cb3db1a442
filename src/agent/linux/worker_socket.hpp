// The worker socket (docs/api.md): one unix socket per worker, its owner's, mode 0600, on which the
// script reports and asks. It is bound again at the same place by an agent that starts later; in
// between clients fail to connect.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "agent/linux/claim.hpp"
#include "files/fd.hpp"
#include "http/http.hpp"
#include "wire/report.hpp"

namespace paceline::agent {

// What a worker's requests are answered from.
struct WorkerVoice {
  std::function<void(const Report&)> report;
  std::function<bool()> noticed;
  std::function<std::string()> should_stop;  // the reason; empty: go on
  std::function<Membership()> membership;
};

// The routes of the worker socket.
HttpResponse answer_worker(const HttpRequest& request, const WorkerOrder& order,
                           const WorkerVoice& voice);

// Where the sockets of a server's workers lie: DIR/run, or where that path would be too long for a
// socket's address, a directory of the server's own in /tmp. Workers of other users must be able to
// pass it, hence mode 0711 for root. Errors: storage, forbidden.
Result<std::string> make_socket_directory(const std::string& server_directory);

// Listens at `path`, for the processes of user `uid`. Errors: storage.
Result<UniqueFd> listen_at(const std::string& path, std::uint32_t uid);

}  // namespace paceline::agent
