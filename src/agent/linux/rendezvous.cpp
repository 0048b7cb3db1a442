#include "agent/linux/rendezvous.hpp"

#include <algorithm>
#include <charconv>
#include <string>

#include "agent/linux/files.hpp"

namespace paceline::agent {
namespace {

constexpr auto kPortsReadInterval = std::chrono::seconds{1};
constexpr auto kPortsInterval = std::chrono::seconds{2};

std::string_view next_word(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  const std::string_view word = line.substr(0, line.find(' '));
  line.remove_prefix(word.size());
  return word;
}

}  // namespace

// "   0: 0100007F:7148 00000000:0000 0A …": the second word ends in the port.
std::set<std::uint32_t> parse_local_ports(std::string_view text) {
  std::set<std::uint32_t> ports;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (!next_word(line).ends_with(':')) continue;
    const std::string_view address = next_word(line);
    const std::string_view port =
        address.substr(std::min(address.rfind(':'), address.size() - 1) + 1);
    std::uint32_t number = 0;
    const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), number, 16);
    if (error == std::errc{} && end == port.data() + port.size()) ports.insert(number);
  }
  return ports;
}

// A machine without IPv6 has no tcp6.
const std::optional<std::set<std::uint32_t>>& PortsInUse::at(Steady::time_point now) {
  if (read_at_ && now - *read_at_ < kPortsReadInterval) return ports_;
  read_at_ = now;
  ports_.reset();
  const auto v4 = read_file("/proc/net/tcp");
  const std::string v6 = read_file("/proc/net/tcp6").value_or("");
  if (!v4 || v4->size() >= kSmallFileMax || v6.size() >= kSmallFileMax) return ports_;
  ports_ = parse_local_ports(*v4);
  ports_->merge(parse_local_ports(v6));
  return ports_;
}

std::optional<bool> RendezvousWatch::met() {
  done_ = true;
  return told_ ? std::optional(false) : std::nullopt;
}

std::optional<bool> RendezvousWatch::look(const std::set<std::uint32_t>& in_use,
                                          Steady::time_point now) {
  if (!since_) since_ = now;
  const auto port = in_use.lower_bound(first_);
  if (port != in_use.end() && *port < end_) return met();
  next_look_ =
      now + (told_ ? std::max<Steady::duration>(kPortsInterval, patience_ / 2) : kPortsInterval);
  if (told_ || now - *since_ < patience_) return std::nullopt;
  told_ = true;
  return true;
}

}  // namespace paceline::agent
