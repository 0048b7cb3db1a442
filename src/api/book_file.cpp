#include "api/book_file.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "files/private_file.hpp"
#include "trust/sha256.hpp"

namespace paceline {
namespace {

constexpr std::size_t kFileBytesMax = 16 << 20;
constexpr std::size_t kValuesMax = 4 << 20;

std::string sum_of(std::string_view json) { return to_hex(sha256(json)) + "\n"; }

Result<Json> read_summed(std::string_view text) {
  const auto end = text.find('\n');
  const auto json = text.substr(0, end);
  const auto sum = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
  if (!sum.empty() && sum != sum_of(json))
    return fail(ErrorCode::invalid, "It is not what was written.");
  return parse_json(json, {.bytes_max = kFileBytesMax, .values_max = kValuesMax});
}

}  // namespace

Result<void> BookFile::load(const Take& take) const {
  const auto text = read_private(path_, kFileBytesMax);
  if (!text) return fail(text.error());
  if (!*text) return {};
  const auto json = read_summed(**text);
  const auto taken = json ? take(*json) : fail(json.error());
  if (taken) return {};
  return fail(ErrorCode::data,
              fmt::format("The {} in '{}' can't be read: {}", words_.what, path_.string(),
                          taken.error().message),
              fmt::format("Take the file from a backup; or move it away and {}.", words_.remedy));
}

Result<void> BookFile::save(std::string_view json) const {
  const auto text = fmt::format("{}\n{}", json, sum_of(json));
  if (text.size() <= kFileBytesMax) return write_private(path_, text);
  return fail(ErrorCode::conflict,
              fmt::format("The {} in '{}' would be over {} bytes.", words_.what, path_.string(),
                          kFileBytesMax),
              "Make room: fewer of them, or with less said of each.");
}

}  // namespace paceline
