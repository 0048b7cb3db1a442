#include "app/gang_address.hpp"

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/udp.hpp>

namespace paceline {
namespace {

namespace ip = boost::asio::ip;

constexpr std::string_view kLoopback = "127.0.0.1";
constexpr unsigned short kDiscardPort = 9;
// Addresses for documentation, which lie behind every default route (RFC 5737, RFC 3849).
constexpr std::array kAnywhere = {"192.0.2.1", "2001:db8::1"};

std::string of_default_route() {
  for (const char* far : kAnywhere)
    if (auto found = source_address(far); !found.empty()) return found;
  return std::string(kLoopback);
}

}  // namespace

std::string source_address(const std::string& far) {
  boost::system::error_code error;
  const auto address = ip::make_address(far, error);
  if (error) return {};
  boost::asio::io_context io;
  ip::udp::socket socket(io);
  if (socket.connect({address, kDiscardPort}, error)) return {};
  const auto near = socket.local_endpoint(error);
  return error ? std::string() : near.address().to_string();
}

std::string gang_address(const std::optional<std::string>& said,
                         const std::optional<TcpAddress>& listen) {
  if (said) return *said;
  boost::system::error_code error;
  const auto at = ip::make_address(listen ? listen->host : std::string(kLoopback), error);
  if (error || at.is_loopback()) return std::string(kLoopback);
  return at.is_unspecified() ? of_default_route() : at.to_string();
}

}  // namespace paceline
