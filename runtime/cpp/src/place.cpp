#include "place.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>

#include "descriptor.hpp"
#include "proof.hpp"

namespace paceline::runtime {
namespace {

std::string text_of(const Place::Variables& variables, const char* name) {
  const char* const text = variables(name);
  return text == nullptr ? "" : text;
}

// Whole numbers in variables; the first that is none is remembered.
class Numbers {
 public:
  explicit Numbers(const Place::Variables& variables) : variables_(variables) {}

  template <class T>
  T read(const char* name, T otherwise) {
    const char* const text = variables_(name);
    if (text == nullptr) return otherwise;
    const char* const end = text + std::strlen(text);
    T number{};
    const auto read = std::from_chars(text, end, number);
    if (read.ec == std::errc() && read.ptr == end && text != end) return number;
    if (error_.empty()) error_ = std::string(name) + "='" + text + "' is no whole number";
    return otherwise;
  }
  [[nodiscard]] const std::string& error() const { return error_; }

 private:
  const Place::Variables& variables_;
  std::string error_;
};

// In numbers, of a host's name or address.
Outcome<std::string> resolved(const std::string& name) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int failed = ::getaddrinfo(name.c_str(), nullptr, &wanted, &found);
  if (failed != 0)
    return bad("MASTER_ADDR=" + name + " is no address of a host: " + ::gai_strerror(failed) + ".");
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> all(found, ::freeaddrinfo);
  std::array<char, NI_MAXHOST> text;
  const int told = ::getnameinfo(found->ai_addr, found->ai_addrlen, text.data(), text.size(),
                                 nullptr, 0, NI_NUMERICHOST);
  if (told != 0)
    return bad("MASTER_ADDR=" + name + " can't be used: " + ::gai_strerror(told) + ".");
  return std::string(text.data());
}

// The address of this host from which another is reached.
Outcome<std::string> address_towards(const std::string& there, std::uint16_t port) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_DGRAM;
  wanted.ai_flags = AI_NUMERICHOST;
  addrinfo* found = nullptr;
  if (::getaddrinfo(there.c_str(), std::to_string(port).c_str(), &wanted, &found) != 0)
    return bad("'" + there + "' is no address.");
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> all(found, ::freeaddrinfo);
  const Descriptor fd(::socket(found->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  std::array<char, NI_MAXHOST> text;
  if (!fd || ::connect(fd.get(), found->ai_addr, found->ai_addrlen) != 0 ||
      ::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&own), &size) != 0 ||
      ::getnameinfo(reinterpret_cast<sockaddr*>(&own), size, text.data(), text.size(), nullptr, 0,
                    NI_NUMERICHOST) != 0)
    return fail(PACELINE_SYSTEM, -1,
                "No way leads from this host to " + there + ": " + std::strerror(errno) + ".");
  return std::string(text.data());
}

// The gang's own, as a server gives it. Else one that others can guess: on one host they are kept out as
// other users, and a network has to be trusted, as torchrun wants it, too.
std::string secret_of(const Place::Variables& variables) {
  const auto given = text_of(variables, "PACELINE_GANG_SECRET");
  if (!given.empty()) return given;
  const auto shared = text_of(variables, "TORCHELASTIC_RUN_ID") + text_of(variables, "MASTER_ADDR");
  const auto digest = proof("gang", std::as_bytes(std::span(shared)));
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

// Who can guess where ranks of one host meet can be there before them. So where the gang has a secret, the
// name is drawn from it anew for each generation: those of before can be read in /proc/net/unix.
std::string meeting_name(const Place::Variables& variables, const Place& place) {
  const auto known = text_of(variables, "TORCHELASTIC_RUN_ID") + "-" + place.venue.address + "-" +
                     std::to_string(place.venue.port);
  if (text_of(variables, "PACELINE_GANG_SECRET").empty()) return "paceline-" + known;
  const auto drawn = known + "-" + std::to_string(place.generation);
  return "paceline-" + hex(proof(place.secret, std::as_bytes(std::span(drawn))));
}

}  // namespace

Outcome<Place> Place::read(const Variables& variables) {
  Numbers numbers(variables);
  Place place;
  place.rank = numbers.read("RANK", 0);
  place.size = numbers.read("WORLD_SIZE", 1);
  place.local_rank = numbers.read("LOCAL_RANK", 0);
  const auto restarts = numbers.read("TORCHELASTIC_RESTART_COUNT", std::uint64_t{0});
  place.generation = numbers.read("PACELINE_GENERATION", restarts);
  const bool near = numbers.read("LOCAL_WORLD_SIZE", place.size) == place.size;
  place.venue.port = numbers.read("MASTER_PORT", std::uint16_t{0});
  if (!numbers.error().empty()) return bad(numbers.error() + ".");
  if (place.rank < 0 || place.rank >= place.size)
    return bad("RANK=" + std::to_string(place.rank) + " does not fit WORLD_SIZE=" +
               std::to_string(place.size) + ": ranks go from 0 to WORLD_SIZE - 1.");
  place.secret = secret_of(variables);
  if (place.size == 1) return place;

  const auto master = text_of(variables, "MASTER_ADDR");
  if (master.empty() || place.venue.port == 0)
    return bad("WORLD_SIZE=" + std::to_string(place.size) +
               " needs MASTER_ADDR and MASTER_PORT: start this under Paceline or torchrun, or "
               "unset WORLD_SIZE.");
  auto address = resolved(master);
  if (!address) return fail(std::move(address.error()));
  place.venue.address = *address;
  if (near) {
    place.venue.name = meeting_name(variables, place);
    return place;
  }
  if (text_of(variables, "TORCHELASTIC_USE_AGENT_STORE") == "True")
    return bad(
        "torchrun itself has the port at MASTER_ADDR, where ranks on several hosts would "
        "meet: start this under Paceline, or on one host.");
  auto own = address_towards(*address, place.venue.port);
  if (!own) return fail(std::move(own.error()));
  place.address = *own;
  return place;
}

}  // namespace paceline::runtime
