#include "link/versions.hpp"

#include <fmt/format.h>

#include <compare>
#include <cstdint>
#include <cstdlib>
#include <optional>

#include "base/number.hpp"

namespace paceline {
namespace {

constexpr std::size_t kVersionTextMax = 64;

struct Version {
  std::uint32_t major = 0, minor = 0;
  friend auto operator<=>(const Version&, const Version&) = default;
};

std::optional<Version> parse(std::string_view text) {
  const auto dot = text.find('.');
  if (dot == std::string_view::npos || text.size() > kVersionTextMax) return {};
  const auto rest = text.substr(dot + 1);
  const auto major = parse_number<std::uint32_t>(text.substr(0, dot));
  const auto minor = parse_number<std::uint32_t>(rest.substr(0, rest.find('.')));
  if (!major || !minor) return {};
  return Version{*major, *minor};
}

bool near(const Version& a, const Version& b) {
  const auto apart = std::int64_t{a.minor} - std::int64_t{b.minor};
  return a.major == b.major && -1 <= apart && apart <= 1;
}

}  // namespace

Result<void> check_versions(LinkVersions versions) {
  const auto server = parse(versions.server), agent = parse(versions.agent);
  if (!server || !agent) {
    return fail(ErrorCode::invalid, "The version of the agent's program was not told.",
                "Install the server's version of Paceline there.");
  }
  if (near(*server, *agent)) return {};
  return fail(ErrorCode::conflict,
              fmt::format("The agent is version {}, which is too far from the server's {}.",
                          versions.agent, versions.server),
              fmt::format("Upgrade the {}: their minor versions may differ by one.",
                          *agent < *server ? "agent" : "server"));
}

}  // namespace paceline
