// HTTP for training scripts, on a listening socket that anybody of the machine may reach: what asks
// nothing, or nothing that is granted, keeps nobody out (docs/limits.md has the bounds).
#pragma once

#include <functional>
#include <memory>

#include "base/result.hpp"
#include "files/fd.hpp"
#include "http/http.hpp"
#include "http/router.hpp"
#include "http/server.hpp"

namespace paceline::agent {

using ScriptHandler = std::function<HttpResponse(const HttpRequest&)>;

// Serves on `listening` (a bound, listening stream socket of any family) until the server is
// destroyed, which also drops all connections. A request that the handler answers with busy() waits
// and is handed to it again, for ten seconds at most: then whoever sent it is told. Errors:
// unavailable: the machine lacks what that takes.
// `router` may have routes that answer later.
Result<std::unique_ptr<HttpServer>> serve_scripts(boost::asio::io_context& io, UniqueFd listening,
                                                  ScriptHandler handler, Router router = {});

// A report can't be stored now.
HttpResponse busy();

}  // namespace paceline::agent
