#include "app/joined_server.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "cli/client/contexts.hpp"
#include "files/private_file.hpp"
#include "http/tls_dialer.hpp"
#include "joining/entrance.hpp"
#include "wire/error_json.hpp"
#include "wire/json.hpp"
#include "wire/json_writer.hpp"

namespace paceline {
namespace {

using Options = JoinedServer::Options;

constexpr std::size_t kServerAddressMax = 512;
constexpr std::size_t kPemBytesMax = 64 << 10;
constexpr std::size_t kNameBytesMax = 63;

std::filesystem::path address_file(const std::filesystem::path& directory) {
  return directory / "server";
}

IdentityDir identity_in(const std::filesystem::path& directory) {
  return IdentityDir(directory / "trust");
}

Result<TcpAddress> read_address(const std::filesystem::path& directory) {
  const auto text = read_private(address_file(directory), kServerAddressMax);
  if (!text) return fail(text.error());
  if (!*text)
    return fail(ErrorCode::data, "The address of this machine's server is not known any more.",
                "Name it once with --join ADDRESS:PORT.");
  const auto line = (*text)->substr(0, (*text)->find('\n'));
  return parse_server_address(line).map_error([&](Error error) {
    error.hint = "Name the right one once with --join ADDRESS:PORT.";
    return error;
  });
}

Result<void> write_address(const std::filesystem::path& directory, const TcpAddress& at) {
  return write_private(address_file(directory), to_string(at) + "\n");
}

Error another_server(const std::filesystem::path& directory, const TcpAddress& at) {
  return {ErrorCode::conflict,
          fmt::format("This machine joined another server than the one at {}.", to_string(at)),
          fmt::format("To leave that one, let its agent end and remove '{}'; to serve both, give "
                      "this one a directory of its own: --dir DIR.",
                      directory.string()),
          Retry::useless};
}

KeptIdentity kept_of(const Identity& identity) { return {identity.name.node, identity.validity}; }

// ---- what the server answers ----

struct Issued {
  std::string certificate, authority;
};

Result<Issued> read_issued(const Result<HttpResponse>& answer) {
  if (!answer) return fail(answer.error());
  if (answer->status >= 300) return fail(read_error(answer->body));
  const auto json = parse_json(answer->body);
  if (!json) return fail(read_error(answer->body));
  Issued issued;
  std::string node;
  std::int64_t serial = 0;
  ObjectReader reader(*json, "the server's answer");
  reader.require({"node", "serial", "certificate", "authority"});
  reader.text("node", node, kNameBytesMax);
  reader.whole("serial", serial, 1, std::numeric_limits<std::int64_t>::max());
  reader.text("certificate", issued.certificate, kPemBytesMax);
  reader.text("authority", issued.authority, kPemBytesMax);
  if (auto read = reader.finish(); !read) return fail(std::move(read.error()));
  return issued;
}

Result<Identity> keep(const std::filesystem::path& directory, const Result<HttpResponse>& answer,
                      const Sha256& expected, WallTime now) {
  const auto issued = read_issued(answer);
  if (!issued) return fail(issued.error());
  return identity_in(directory).accept({issued->certificate, issued->authority}, expected, now);
}

// ---- joining ----

std::string join_body(const Options& options, const std::string& request) {
  JsonWriter json;
  json.begin_object().field("node", options.node).field("machine", options.machine);
  json.field("request", request).field("version", options.version).end_object();
  return json.take();
}

Result<Identity> join(const Options& options, WallTime now) {
  const auto request = identity_in(options.directory).request();
  if (!request) return fail(request.error());
  TlsDialerOptions way;
  way.host = options.join->host;
  way.port = options.join->port;
  way.authority = options.token->authority();
  HttpClient http({.dialer = std::make_shared<TlsDialer>(std::move(way)),
                   .token = options.token->text(),
                   .version = options.version});
  const auto answer =
      http.send({.method = "POST", .target = "/v1/join", .body = join_body(options, *request)});
  return keep(options.directory, answer, options.token->authority(), now);
}

bool same_server(const Identity& identity, const Token& token) {
  const auto known = fingerprint_of(identity.authority);
  return known && same(*known, token.authority());
}

// A line that was pasted once more does no harm, and one of a new invitation makes a new node.
Result<Identity> join_again(const Options& options, const Identity& kept, WallTime now) {
  if (!same_server(kept, *options.token))
    return fail(another_server(options.directory, *options.join));
  auto joined = join(options, now);
  if (joined || !may_go_on(kept_of(kept), options.node, now)) return joined;
  spdlog::warn("{} The identity that this machine has is used.", joined.error().message);
  return kept;
}

TlsDialerOptions way_to(const TcpAddress& at, const Identity& identity) {
  TlsDialerOptions way;
  way.host = at.host;
  way.port = at.port;
  way.authority = identity.authority;
  way.shown = identity.credentials;
  return way;
}

// The same server may be reached by another address; whether it is the same, it shows itself.
Result<void> check_server(const Options& options, const Identity& kept) {
  const auto known = read_address(options.directory);
  if (known && *known == *options.join) return {};
  const auto dialled = TlsDialer(way_to(*options.join, kept)).dial();
  if (dialled) return {};
  if (dialled.error().code == ErrorCode::forbidden)
    return fail(another_server(options.directory, *options.join));
  return fail(dialled.error());
}

Result<Identity> find_identity(const Options& options, WallTime now) {
  auto kept = JoinedServer::kept(options.directory);
  if (!kept) return fail(std::move(kept.error()));
  const auto entrance = entrance_of(*kept ? std::optional(kept_of(**kept)) : std::nullopt,
                                    options.node, options.token.has_value());
  if (!entrance) return fail(entrance.error());
  if (*entrance == Entrance::joins_again) return join_again(options, **kept, now);
  if (*entrance == Entrance::joins) return join(options, now);
  if (options.join) {
    if (auto same = check_server(options, **kept); !same) return fail(std::move(same.error()));
  }
  return std::move(**kept);
}

}  // namespace

Result<std::optional<Identity>> JoinedServer::kept(const std::filesystem::path& directory) {
  return identity_in(directory).read();
}

Result<JoinedServer> JoinedServer::take(Options options, WallTime now) {
  auto identity = find_identity(options, now);
  if (!identity) return fail(std::move(identity.error()));
  auto at = options.join ? Result<TcpAddress>(*options.join) : read_address(options.directory);
  if (!at) return fail(std::move(at.error()));
  if (options.join) {
    if (auto kept = write_address(options.directory, *at); !kept)
      return fail(std::move(kept.error()));
  }
  return JoinedServer(std::move(options), std::move(*identity), std::move(*at));
}

std::optional<Error> JoinedServer::flaw(WallTime now) const {
  return flaw_of(kept_of(identity_), now);
}

bool JoinedServer::wants_another(WallTime now) const {
  return paceline::wants_another(kept_of(identity_), now);
}

ServerAddress JoinedServer::server(std::function<int()> interrupted) const {
  auto way = way_to(at_, identity_);
  way.interrupted = interrupted;
  return {.dialer = std::make_shared<TlsDialer>(std::move(way)),
          .interrupted = std::move(interrupted),
          .version = options_.version};
}

Result<Identity> JoinedServer::renew(std::function<int()> interrupted, WallTime now) const {
  const auto expected = fingerprint_of(identity_.authority);
  const auto request = identity_in(options_.directory).request();
  if (!request) return fail(request.error());
  JsonWriter json;
  json.begin_object().field("request", *request).end_object();
  HttpClient http(server(std::move(interrupted)));
  const auto answer = http.send({.method = "POST", .target = "/v1/identity", .body = json.take()});
  return keep(options_.directory, answer, *expected, now);
}

}  // namespace paceline
