#include "agent/linux/status_listener.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>

#include "agent/linux/claim.hpp"
#include "agent/linux/files.hpp"
#include "agent/linux/ports.hpp"

namespace paceline::agent {
namespace {

constexpr std::string_view kPrefix = "/v1/workers/";
constexpr std::string_view kSuffix = "/status";
constexpr std::string_view kBearer = "Bearer ";
constexpr std::size_t kTokenSize = 64;
constexpr int kBacklog = 64;

UniqueFd listen_on_loopback(std::uint32_t port) {
  UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int on = 1;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (!fd || ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(fd.get(), kBacklog) != 0)
    return {};
  return fd;
}

std::string new_token() {
  std::array<unsigned char, kTokenSize / 2> random{};
  std::string token;
  if (::getrandom(random.data(), random.size(), 0) != static_cast<ssize_t>(random.size()))
    return token;
  for (const unsigned char byte : random) token += fmt::format("{:02x}", byte);
  return token;
}

// Takes the same time wherever the texts differ.
bool equal(std::string_view a, std::string_view b) {
  unsigned difference = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    difference |= static_cast<unsigned>(a[i] ^ b[i]);
  return difference == 0;
}

std::optional<WorkerKey> worker_of(std::string_view path) {
  if (!path.starts_with(kPrefix) || !path.ends_with(kSuffix) ||
      path.size() < kPrefix.size() + kSuffix.size())
    return std::nullopt;
  return parse_claim_name(
      path.substr(kPrefix.size(), path.size() - kPrefix.size() - kSuffix.size()));
}

}  // namespace

StatusListener::StatusListener(std::string port_file, std::string token_directory, Owner owner,
                               Handler handler)
    : port_file_(std::move(port_file)),
      token_directory_(std::move(token_directory)),
      owner_(std::move(owner)),
      handler_(std::move(handler)) {}

Result<UniqueFd> StatusListener::bind_known_port() {
  port_ = static_cast<std::uint32_t>(std::atoi(read_file(port_file_).value_or("").c_str()));
  UniqueFd fd = port_ == 0 ? UniqueFd{} : listen_on_loopback(port_);
  if (fd) return fd;
  return bind_new_port();
}

Result<UniqueFd> StatusListener::bind_new_port() {
  auto ports = take_ports(JobId{0}, Generation{0}, kPortBlock);
  if (!ports) return fail(ports.error());
  port_ = ports->first;
  UniqueFd fd = listen_on_loopback(port_);
  if (!fd) return fail(system_error(fmt::format("Can't listen on port {}", port_), errno));
  if (auto stored = replace_file(AT_FDCWD, port_file_.c_str(), std::to_string(port_)); !stored)
    return fail(stored.error());
  return fd;
}

Result<void> StatusListener::open(boost::asio::io_context& io) {
  auto fd = bind_known_port();
  if (!fd) return fail(fd.error());
  listener_ = std::make_unique<HttpListener>(
      io, std::move(*fd), [this](const HttpRequest& request) { return answer(request); });
  return {};
}

std::string StatusListener::url(const WorkerKey& key) const {
  if (!is_open()) return {};
  return fmt::format("http://127.0.0.1:{}{}{}{}", port_, kPrefix, claim_name(key), kSuffix);
}

std::string StatusListener::token_path(std::uint32_t uid) const {
  return fmt::format("{}/token-{}", token_directory_, uid);
}

std::string StatusListener::token(std::uint32_t uid) {
  std::string& known = tokens_[uid];
  if (known.size() != kTokenSize) known = read_file(token_path(uid), kTokenSize).value_or("");
  return known.size() == kTokenSize ? known : std::string{};
}

Result<std::string> StatusListener::token_file(std::uint32_t uid) {
  std::string path = token_path(uid);
  if (!token(uid).empty()) return path;
  const std::string fresh = new_token();
  if (auto written = replace_file(AT_FDCWD, path.c_str(), fresh); !written)
    return fail(written.error());
  if (::geteuid() == 0 && ::chown(path.c_str(), uid, static_cast<gid_t>(-1)) != 0)
    return fail(system_error("Can't hand over '" + path + "'", errno));
  tokens_[uid] = fresh;
  return path;
}

HttpReply StatusListener::answer(const HttpRequest& request) {
  const auto key = worker_of(request.path);
  if (!key || request.method != "POST")
    return http_error(404, "not_found", "This is only for the trainer-status POST of a worker.");
  const auto owner = owner_(*key);
  const std::string expected = owner ? token(*owner) : std::string{};
  if (expected.empty() || !equal(request.authorization, std::string(kBearer) + expected))
    return http_error(403, "forbidden", "The token is not that of the worker's user.");
  return handler_(*key, request.body);
}

}  // namespace paceline::agent
