#include "files/witnesses.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/number.hpp"
#include "base/utf8.hpp"

namespace paceline {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLookedAt = 256;  // entries of a directory
constexpr std::size_t kInside = 8, kAbove = 4;
constexpr std::size_t kNameMax = 255;

struct Seen {
  std::uint64_t mount = 0, number = 0;
  std::int64_t changed_ns = 0;
};

std::optional<Seen> look_at(const fs::path& path) {
  struct statx info {};
  const unsigned wanted = STATX_INO | STATX_CTIME | STATX_MNT_ID;
  if (::statx(AT_FDCWD, path.c_str(), AT_SYMLINK_NOFOLLOW, wanted, &info) != 0) return std::nullopt;
  const auto changed = std::int64_t{info.stx_ctime.tv_sec} * 1'000'000'000 + info.stx_ctime.tv_nsec;
  return Seen{info.stx_mnt_id, info.stx_ino, changed};
}

std::string text_of(const Seen& seen, std::string_view name) {
  return fmt::format("{} {} {}", seen.number, seen.changed_ns, name);
}

bool may_tell(std::string_view name) {
  return name.size() <= kNameMax && is_utf8(name) && name.find('\n') == std::string_view::npos;
}

}  // namespace

std::vector<std::string> witnesses_of(const fs::path& directory) {
  const auto top = look_at(directory / ".");
  if (!top) return {};
  std::vector<std::pair<std::int64_t, std::string>> inside;
  std::error_code error;
  fs::directory_iterator entry(directory, error);
  for (std::size_t i = 0; i < kLookedAt && !error && entry != fs::directory_iterator(); ++i) {
    const auto name = entry->path().filename().string();
    const auto seen = look_at(entry->path());
    if (seen && seen->mount == top->mount && may_tell(name))
      inside.emplace_back(seen->changed_ns, text_of(*seen, name));
    entry.increment(error);
  }
  std::ranges::sort(inside);
  inside.resize(std::min(inside.size(), kInside));
  std::vector<std::string> witnesses{text_of(*top, ".")};
  for (auto& [changed, text] : inside) witnesses.push_back(std::move(text));
  std::string name = "..";
  for (std::size_t i = 0; i < kAbove; ++i, name += "/..") {
    const auto seen = look_at(directory / name);
    if (!seen || seen->mount != top->mount) break;
    witnesses.push_back(text_of(*seen, name));
  }
  return witnesses;
}

bool is_witnessed(const fs::path& directory, const std::vector<std::string>& witnesses) {
  const auto top = look_at(directory / ".");
  return top && std::ranges::any_of(witnesses, [&](std::string_view witness) {
           const auto first = witness.find(' '), second = witness.find(' ', first + 1);
           if (second == std::string_view::npos) return false;
           const auto seen = look_at(directory / witness.substr(second + 1));
           return seen && seen->mount == top->mount &&
                  parse_number<std::uint64_t>(witness.substr(0, first)) == seen->number &&
                  parse_number<std::int64_t>(witness.substr(first + 1, second - first - 1)) ==
                      seen->changed_ns;
         });
}

}  // namespace paceline
