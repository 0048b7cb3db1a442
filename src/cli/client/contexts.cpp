#include "cli/client/contexts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/number.hpp"
#include "files/private_file.hpp"
#include "http/tls_dialer.hpp"
#include "trust/token.hpp"
#include "wire/json.hpp"
#include "wire/json_writer.hpp"

namespace paceline {
namespace {

constexpr std::size_t kFileBytesMax = 1 << 20;
constexpr std::size_t kNameBytesMax = 64;
constexpr std::size_t kAddressBytesMax = 512;
constexpr std::size_t kTokenBytesMax = 1024;
constexpr std::string_view kScheme = "https://";

std::optional<std::filesystem::path> file_of(const Environment& environment) {
  auto folder = value_of(environment, "XDG_CONFIG_HOME");
  if (!folder) {
    folder = value_of(environment, "HOME");
    if (folder) *folder += "/.config";
  }
  if (!folder) return {};
  return std::filesystem::path(*folder) / "paceline" / "contexts";
}

Result<Contexts> parse(std::string_view text) {
  const auto json = parse_json(text);
  if (!json) return fail(json.error());
  Contexts contexts;
  ObjectReader reader(*json, "the file");
  reader.require({"current", "servers"}).text("current", contexts.current, kNameBytesMax);
  const auto* servers = reader.find("servers");
  if (auto read = reader.finish(); !read) return fail(std::move(read.error()));
  if (!servers->is_object()) return fail(ErrorCode::invalid, "'servers' must be an object.");
  for (const auto& [name, each] : servers->items()) {
    RemoteServer server;
    ObjectReader fields(each, "a server");
    fields.require({"address", "token"}).text("address", server.address, kAddressBytesMax);
    fields.text("token", server.token, kTokenBytesMax);
    if (auto read = fields.finish(); !read) return fail(std::move(read.error()));
    contexts.servers.emplace(name, std::move(server));
  }
  if (contexts.current != kLocalContext && !contexts.servers.contains(contexts.current))
    return fail(ErrorCode::invalid, fmt::format("There is no server '{}'.", contexts.current));
  return contexts;
}

std::string file_text(const Contexts& contexts) {
  JsonWriter json;
  json.begin_object().field("current", contexts.current).key("servers").begin_object();
  for (const auto& [name, server] : contexts.servers) {
    json.key(name).begin_object().field("address", server.address);
    json.field("token", server.token).end_object();
  }
  json.end_object().end_object();
  return json.take() + "\n";
}

// "https://gpu-box:7443/" as "gpu-box:7443".
std::optional<std::string> address_in(std::string_view url) {
  if (!url.starts_with(kScheme)) return {};
  url.remove_prefix(kScheme.size());
  if (url.ends_with('/')) url.remove_suffix(1);
  return std::string(url);
}

}  // namespace

Result<TcpAddress> parse_server_address(std::string_view text) {
  const auto colon = text.rfind(':');
  auto host = text.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  const auto port = colon == std::string_view::npos
                        ? std::nullopt
                        : parse_number<std::uint16_t>(text.substr(colon + 1));
  if (!host.empty() && port && *port != 0) return TcpAddress{std::string(host), *port};
  return fail(ErrorCode::invalid, fmt::format("'{}' is not the address of a server.", text),
              "Write HOST:PORT, like gpu-box:7443, as 'paceline up --listen' was given it.");
}

Result<ServerAddress> address_of(const RemoteServer& server, std::function<int()> interrupted) {
  const auto token = Token::parse(server.token, TokenKind::user);
  if (!token)
    return fail(ErrorCode::data,
                fmt::format("The token that is kept for {} is damaged.", server.address),
                fmt::format("Log in again: 'paceline login {}'.", server.address));
  auto at = parse_server_address(server.address);
  if (!at) return fail(std::move(at.error()));
  TlsDialerOptions options;
  options.host = std::move(at->host);
  options.port = at->port;
  options.authority = token->authority();
  options.interrupted = interrupted;
  return ServerAddress{.dialer = std::make_shared<TlsDialer>(std::move(options)),
                       .interrupted = std::move(interrupted),
                       .token = server.token};
}

Result<Contexts> Contexts::read(const Environment& environment) {
  const auto file = file_of(environment);
  if (!file) return Contexts{};
  const auto text = read_private(*file, kFileBytesMax);
  if (!text) return fail(text.error());
  if (!*text) return Contexts{};
  auto contexts = parse(**text);
  if (contexts) return contexts;
  return fail(ErrorCode::data,
              fmt::format("'{}' can't be read: {}", file->string(), contexts.error().message),
              "Move it away, then log in again with 'paceline login ADDR:PORT'.");
}

Result<void> Contexts::write(const Environment& environment) const {
  const auto file = file_of(environment);
  if (!file)
    return fail(ErrorCode::invalid, "There is no place to keep it: HOME is not set.",
                "Set HOME or XDG_CONFIG_HOME.");
  std::error_code ec;
  std::filesystem::create_directories(file->parent_path(), ec);
  if (ec)
    return fail(ErrorCode::storage,
                fmt::format("'{}' can't be made: {}.", file->parent_path().string(), ec.message()));
  return write_private(*file, file_text(*this));
}

Result<void> check_context_name(std::string_view name) {
  const bool plain = std::ranges::all_of(name, [](unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  });
  if (plain && !name.empty() && name.size() <= kNameBytesMax && name != kLocalContext) return {};
  return fail(ErrorCode::invalid, fmt::format("'{}' is no name for a context.", name),
              "Use up to 64 letters, digits, '.', '_' and '-'; 'local' is this machine's server.");
}

Result<std::optional<RemoteServer>> find_remote(const std::optional<std::string>& server,
                                                const Environment& environment) {
  const auto address = server ? address_in(*server) : std::nullopt;
  const bool is_place = server && !address && server->find('/') != std::string::npos;
  if (is_place || (!server && value_of(environment, "PACELINE_DIR"))) return std::nullopt;
  const auto contexts = Contexts::read(environment);
  if (!contexts) return fail(contexts.error());
  const auto& servers = contexts->servers;
  if (!address) {
    const auto found = servers.find(server.value_or(contexts->current));
    return found == servers.end() ? std::nullopt : std::optional(found->second);
  }
  const auto known =
      std::ranges::find(servers, *address, [](const auto& each) { return each.second.address; });
  if (known != servers.end()) return known->second;
  return fail(ErrorCode::not_found, fmt::format("You are not logged in at {}.", *address),
              fmt::format("Log in first: 'paceline login {}'.", *address));
}

}  // namespace paceline
