// A manifest from anybody is refused, or nothing in it leads out of the directory and it is written as it was
// read. So are pieces of files.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.hpp"
#include "ship/ignore_rules.hpp"
#include "ship/manifest.hpp"
#include "ship/pieces.hpp"

using namespace paceline;

namespace {

void stays_inside(const std::string& path) {
  check(!path.empty() && !path.starts_with('/'), "a path begins at the directory");
  for (const auto& part : path_parts(path))
    check(part != "." && part != "..", "and stays below it");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  static_cast<void>(read_pieces(text));
  const auto manifest = read_manifest(text);
  if (!manifest) return 0;
  for (const auto& file : manifest->files) stays_inside(file.path);
  for (const auto& link : manifest->links) {
    stays_inside(link.path);
    check(leads_inside(link.path, link.target), "a link stays inside");
  }
  const auto written = to_text(*manifest);
  const auto again = read_manifest(written);
  check(again && *again == *manifest && to_text(*again) == written, "one canonical text");
  return 0;
}
