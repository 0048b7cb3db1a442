#include "app/remote_door.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <boost/asio/io_context.hpp>
#include <utility>

#include "api/node_book_file.hpp"

namespace paceline {
namespace {

constexpr auto kLookEvery = std::chrono::minutes{1};
constexpr std::chrono::milliseconds kProofWithin{10'000};
constexpr std::size_t kHeaderBytesMax = 16 << 10;

// What people on other machines type.
std::string told(TcpAddress at) {
  const bool everywhere = at.host == "0.0.0.0" || at.host == "::";
  if (everywhere) at.host = host_name();
  return to_string(at);
}

}  // namespace

RemoteDoor::RemoteDoor(boost::asio::io_context& io, Clock& clock, Kept kept, UniqueFd socket,
                       std::vector<std::string> own_nodes)
    : io_(io),
      clock_(clock),
      kept_(std::move(kept)),
      socket_(std::move(socket)),
      own_nodes_(std::move(own_nodes)),
      address_(told(tcp_address_of(socket_.get()))),
      look_(io),
      turned_away_(clock, [](const std::string& line) { spdlog::warn("{}", line); }) {}

Result<RemoteDoor::Kept> RemoteDoor::read(const std::filesystem::path& directory, WallTime now) {
  auto authority = Authority::open(directory / "trust", now);
  if (!authority) return fail(std::move(authority.error()));
  auto tokens = TokenBook::open(directory / "tokens");
  if (!tokens) return fail(std::move(tokens.error()));
  auto nodes = open_node_book(directory / "nodes");
  if (!nodes) return fail(std::move(nodes.error()));
  return Kept{std::move(*authority), std::move(*tokens), std::move(*nodes)};
}

Result<std::unique_ptr<RemoteDoor>> RemoteDoor::open(boost::asio::io_context& io, Clock& clock,
                                                     const Options& options) {
  auto kept = read(options.directory, clock.wall());
  if (!kept) return fail(std::move(kept.error()));
  auto socket = listen_tcp(options.at);
  if (!socket) return fail(std::move(socket.error()));
  std::unique_ptr<RemoteDoor> door(
      new RemoteDoor(io, clock, std::move(*kept), std::move(*socket), options.own_nodes));
  if (auto ok = door->take_certificate(); !ok) return fail(std::move(ok.error()));
  return door;
}

RemoteAccess RemoteDoor::access(AgentDoor* agents) {
  return {.tokens = &kept_.tokens,
          .authority = kept_.authority.fingerprint(),
          .address = address_,
          .nodes = &kept_.nodes,
          .issuer = &kept_.authority,
          .own_nodes = own_nodes_,
          .agents = agents,
          .turned_away = [this](std::string_view from, std::string_view why) {
            turned_away_.note(from, why);
          }};
}

Result<void> RemoteDoor::keep_boot(const std::string& node, const std::string& boot) {
  return kept_.nodes.heard(node, boot);
}

Result<void> RemoteDoor::serve(Router router, ServerOptions options) {
  options.when_full = WhenFull::replace;
  options.proof_ms = kProofWithin;
  options.header_bytes_max = kHeaderBytesMax;
  options.admit = [this, admit = std::move(options.admit)](const HttpRequest& request) {
    auto admitted = admit(request);
    if (!admitted) turned_away_.note(request.peer.origin, admitted.error().message);
    return admitted;
  };
  auto listener = listen_tls(io_, std::move(socket_), certificates_,
                             {.refused = [this](std::string_view from, std::string_view why) {
                               turned_away_.note(from, fmt::format("No TLS with it: {}.", why));
                             }});
  server_.emplace(io_, std::move(listener), std::move(router), std::move(options));
  watch_certificate();
  return server_->start();
}

void RemoteDoor::stop(std::chrono::milliseconds patience, std::function<void()> stopped) {
  look_.cancel();
  server_->stop(patience, std::move(stopped));
}

// Its own, from the authority: new at every start, and whenever it wants renewal.
Result<void> RemoteDoor::take_certificate() {
  const auto issued = kept_.authority.issue_server(clock_.wall());
  if (!issued) return fail(issued.error());
  validity_ = issued->validity;
  if (certificates_) return certificates_->renew(issued->credentials);
  auto made = TlsCertificates::make(issued->credentials, kept_.authority.certificate());
  if (!made) return fail(std::move(made.error()));
  certificates_ = std::move(*made);
  return {};
}

void RemoteDoor::watch_certificate() {
  look_.after(kLookEvery, [this] {
    if (validity_.wants_renewal(clock_.wall())) {
      if (const auto taken = take_certificate(); !taken)
        spdlog::error("The server's certificate can't be renewed: {}", taken.error().message);
    }
    watch_certificate();
  });
}

}  // namespace paceline
