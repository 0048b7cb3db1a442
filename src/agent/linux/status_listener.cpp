#include "agent/linux/status_listener.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <optional>

#include "agent/linux/claim.hpp"
#include "agent/linux/files.hpp"
#include "agent/linux/script_server.hpp"

namespace paceline::agent {
namespace {

constexpr std::string_view kPrefix = "/v1/workers/";
constexpr std::string_view kSuffix = "/status";
constexpr std::string_view kBearer = "Bearer ";
constexpr int kStatusBacklog = 64;

enum class Purpose { hold, listen };

// A socket that holds must not have SO_REUSEADDR: beside one that doesn't listen that would let
// anybody bind. SO_REUSEPORT lets this user alone. A socket that listens needs both, for what is
// left of earlier connections.
UniqueFd bind_to_loopback(std::uint32_t port, Purpose purpose) {
  UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int on = 1;
  const int reuse = purpose == Purpose::listen ? 1 : 0;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (!fd || ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEPORT, &on, sizeof on) != 0 ||
      ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof reuse) != 0 ||
      ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      (purpose == Purpose::listen && ::listen(fd.get(), kStatusBacklog) != 0))
    return {};
  return fd;
}

// Takes the same time wherever the texts differ.
bool equal(std::string_view a, std::string_view b) {
  unsigned difference = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    difference |= static_cast<unsigned>(a[i] ^ b[i]);
  return difference == 0;
}

std::optional<ProcessKey> worker_of(std::string_view path) {
  if (!path.starts_with(kPrefix) || !path.ends_with(kSuffix) ||
      path.size() < kPrefix.size() + kSuffix.size())
    return std::nullopt;
  return parse_claim_name(
      path.substr(kPrefix.size(), path.size() - kPrefix.size() - kSuffix.size()));
}

}  // namespace

StatusListener::StatusListener(std::string port_file, TokenOf token_of, Handler handler)
    : port_file_(std::move(port_file)),
      token_of_(std::move(token_of)),
      handler_(std::move(handler)) {}

// The listening socket; empty: errno says why.
UniqueFd StatusListener::take_port(std::uint32_t port) {
  UniqueFd holding = bind_to_loopback(port, Purpose::hold);
  UniqueFd listening = holding ? bind_to_loopback(port, Purpose::listen) : UniqueFd{};
  if (!listening) return {};
  port_ = port;
  held_.clear();
  held_.push_back(std::move(holding));
  return listening;
}

Result<UniqueFd> StatusListener::take_new_port(const PortBlocks& blocks) {
  const auto first = gang_port(usable_ports(), JobId{0}, Generation{0}, 1, ::geteuid());
  const auto ports = blocks.take_from(first.value_or(0), 1, port_file_);
  if (!ports) return fail(ports.error());
  UniqueFd listening = take_port(ports->first);
  if (!listening)
    return fail(system_error(fmt::format("Can't listen on port {}", ports->first), errno));
  if (auto stored = replace_file(AT_FDCWD, port_file_.c_str(), std::to_string(port_)); !stored)
    return fail(stored.error());
  return listening;
}

Result<void> StatusListener::open(boost::asio::io_context& io, const PortBlocks& blocks) {
  const int before = std::atoi(read_file(port_file_).value_or("").c_str());
  const auto again =
      before > 0 ? blocks.take_again(static_cast<std::uint32_t>(before), port_file_) : std::nullopt;
  UniqueFd fd = again ? take_port(again->first) : UniqueFd{};
  if (!fd && before > 0)
    spdlog::warn("Port {} for trainer-status posts is taken: those of running workers are lost.",
                 before);
  auto listening = fd ? Result<UniqueFd>(std::move(fd)) : take_new_port(blocks);
  if (!listening) return fail(listening.error());
  auto served = serve_scripts(io, std::move(*listening),
                              [this](const HttpRequest& request) { return answer(request); });
  if (!served) return fail(served.error());
  server_ = std::move(*served);
  return {};
}

std::string StatusListener::url(const ProcessKey& key) const {
  if (!is_open()) return {};
  return fmt::format("http://127.0.0.1:{}{}{}{}", port_, kPrefix, claim_name(key), kSuffix);
}

HttpResponse StatusListener::answer(const HttpRequest& request) {
  const auto key = worker_of(request.path);
  if (!key || request.method != "POST")
    return error_response({ErrorCode::not_found,
                           "This is only for the trainer-status POST of a worker.",
                           {},
                           Retry::useless});
  const std::string expected = token_of_(*key, port_);
  if (expected.empty() || !equal(request.header("Authorization"), std::string(kBearer) + expected))
    return error_response(
        {ErrorCode::forbidden, "The token is not that of a worker that runs.", {}, Retry::useless});
  return handler_(*key, request.body);
}

}  // namespace paceline::agent
