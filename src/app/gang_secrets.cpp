#include "app/gang_secrets.hpp"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <string_view>

#include "agent/linux/environment.hpp"
#include "files/private_file.hpp"
#include "files/random_name.hpp"
#include "trust/sha256.hpp"

namespace paceline {
namespace {

constexpr std::size_t kBytesMax = 256;
constexpr std::size_t kKeyLength = 64;

struct KeptKey {
  std::uint32_t first = 0;
  std::string key;
};

// "17 5f…"
std::optional<KeptKey> parse(std::string_view text) {
  KeptKey kept;
  const char* const end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, kept.first);
  if (first.ec != std::errc{} || first.ptr == end || *first.ptr != ' ') return {};
  kept.key = text.substr(static_cast<std::size_t>(first.ptr - text.data()) + 1);
  if (kept.key.ends_with('\n')) kept.key.pop_back();
  const bool whole = kept.key.size() == kKeyLength &&
                     kept.key.find_first_not_of("0123456789abcdef") == std::string::npos;
  return whole ? std::optional(kept) : std::nullopt;
}

}  // namespace

Result<GangSecrets> GangSecrets::open(const std::filesystem::path& directory, JobId next) {
  if (auto there = sha256_library(); !there) return fail(std::move(there.error()));
  const auto file = directory / "gangs";
  const auto text = read_private(file, kBytesMax);
  if (!text) return fail(text.error());
  if (*text) {
    const auto kept = parse(**text);
    if (!kept)
      return fail(ErrorCode::data, fmt::format("'{}' is damaged.", file.string()),
                  "Remove it: gangs of several workers that run start anew when they are resized.");
    return GangSecrets(JobId{kept->first}, kept->key);
  }
  const auto key = random_name() + random_name();
  if (auto written = write_private(file, fmt::format("{} {}\n", next.value, key)); !written)
    return fail(written.error());
  return GangSecrets(next, key);
}

void GangSecrets::add(JobId job, LaunchSpec& launch) const {
  if (job < first_) return;
  launch.environment.try_emplace(agent::kGangSecret,
                                 to_hex(sha256(fmt::format("{}:{}:{}", key_, job.value, key_))));
}

}  // namespace paceline
