#include "ship/manifest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <utility>

#include "base/utf8.hpp"
#include "ship/ignore_rules.hpp"
#include "trust/sha256.hpp"
#include "wire/json.hpp"
#include "wire/json_writer.hpp"

namespace paceline {
namespace {

constexpr std::size_t kPathMax = 1024;
constexpr std::size_t kPartMax = 255;
constexpr std::size_t kDepthMax = 64;
constexpr std::uint32_t kModeMax = 0777;
constexpr JsonBounds kManifestBounds{kManifestBytesMax, 4, 8 * kShipEntriesMax};

tl::unexpected<Error> bad_path(std::string_view path, std::string_view why) {
  return fail(ErrorCode::invalid,
              fmt::format("'{}' can't travel: {}.", to_utf8(path.substr(0, kPathMax)), why),
              "Rename it, or name it in .pacelineignore.");
}

Result<void> check_ship_path(const std::string& path) {
  const auto parts = path_parts(path);
  if (path.size() > kPathMax || parts.size() > kDepthMax)
    return bad_path(path, "the path is too long");
  if (path.empty() || joined_path(parts) != path || path.find('\0') != std::string::npos)
    return bad_path(path, "it is no path from the directory on");
  for (const auto& part : parts) {
    if (part == "." || part == "..") return bad_path(path, "it leads out of the directory");
    if (part.size() > kPartMax) return bad_path(path, "a name in it is too long");
  }
  return is_utf8(path) ? Result<void>{} : bad_path(path, "its name is not UTF-8 text");
}

// Every path once, and none below a file or a link.
Result<void> check_tree(const Manifest& manifest) {
  std::set<std::string_view> leaves, all;
  const auto add = [&](const std::string& path) -> Result<void> {
    if (auto sound = check_ship_path(path); !sound) return sound;
    if (!leaves.insert(path).second) return bad_path(path, "it stands there twice");
    return {};
  };
  for (const auto& file : manifest.files)
    if (auto ok = add(file.path); !ok) return ok;
  for (const auto& link : manifest.links)
    if (auto ok = add(link.path); !ok) return ok;
  for (const auto& directory : manifest.directories)
    if (auto ok = add(directory); !ok) return ok;
  for (const std::string_view path : leaves)
    for (auto slash = path.find('/'); slash != std::string_view::npos;
         slash = path.find('/', slash + 1))
      if (leaves.contains(path.substr(0, slash)))
        return bad_path(path, "something that is no directory stands above it");
  return {};
}

Result<void> check_files(const Manifest& manifest) {
  std::map<std::string_view, std::uint64_t> known;
  for (const auto& file : manifest.files) {
    if (!is_ship_name(file.sha256))
      return bad_path(file.path, "its digest is no SHA-256 in small hexadecimal digits");
    if (file.mode > kModeMax) return bad_path(file.path, "its mode is no mode of a file");
    const auto [found, fresh] = known.emplace(file.sha256, file.bytes);
    if (found->second != file.bytes) return bad_path(file.path, "its digest has two lengths");
  }
  return {};
}

Result<void> check_size(const Manifest& manifest) {
  const auto entries = manifest.files.size() + manifest.links.size() + manifest.directories.size();
  if (entries > kShipEntriesMax)
    return fail(ErrorCode::too_large,
                fmt::format("The directory holds {} files; a ship holds at most {}.", entries,
                            kShipEntriesMax),
                "Name what the job doesn't need in .pacelineignore.");
  std::uint64_t left = kManifestSumMax;
  for (const auto& file : manifest.files) {
    if (file.bytes > left)
      return fail(ErrorCode::too_large, "The files have more than 1 TiB together.",
                  "Put them on a file system that the nodes share.");
    left -= file.bytes;
  }
  return {};
}

// ---- JSON ----

const Json* array_of(ObjectReader& reader, const Json& json, std::string_view key) {
  reader.require({key});
  const auto* found = reader.find(key);
  if (found != nullptr && !found->is_array()) reader.mismatch(key, "a list", *found);
  return found != nullptr && found->is_array() && json.is_object() ? found : nullptr;
}

Result<ShipFile> read_file_entry(const Json& json) {
  ShipFile file;
  ObjectReader reader(json, "file");
  reader.require({"path", "mode", "bytes", "sha256"}).text("path", file.path, kPathMax);
  reader.whole("mode", file.mode, 0, kModeMax).whole("bytes", file.bytes, 0, kManifestSumMax);
  reader.text("sha256", file.sha256, 64);
  if (auto read = reader.finish(); !read) return fail(std::move(read.error()));
  return file;
}

Result<ShipLink> read_link_entry(const Json& json) {
  ShipLink link;
  ObjectReader reader(json, "link");
  reader.require({"path", "target"}).text("path", link.path, kPathMax);
  reader.text("target", link.target, kPathMax);
  if (auto read = reader.finish(); !read) return fail(std::move(read.error()));
  return link;
}

template <class Value>
Result<void> read_list(const Json& list, Result<Value> (*read)(const Json&),
                       std::vector<Value>& into) {
  for (const auto& each : list) {
    auto value = read(each);
    if (!value) return fail(std::move(value.error()));
    into.push_back(std::move(*value));
  }
  return {};
}

}  // namespace

std::uint64_t Manifest::bytes() const {
  return std::accumulate(files.begin(), files.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const ShipFile& file) { return sum + file.bytes; });
}

bool leads_inside(std::string_view path, std::string_view target) {
  if (target.empty() || target.size() > kPathMax || target.starts_with('/') ||
      target.find('\0') != std::string_view::npos || !is_utf8(target))
    return false;
  auto depth = static_cast<std::ptrdiff_t>(path_parts(path).size()) - 1;
  for (const auto& part : path_parts(target)) {
    if (part == ".") continue;
    depth += part == ".." ? -1 : 1;
    if (depth < 0) return false;
  }
  return true;
}

Result<void> tidy_manifest(Manifest& manifest) {
  if (auto ok = check_size(manifest); !ok) return ok;
  std::ranges::sort(manifest.files, {}, &ShipFile::path);
  std::ranges::sort(manifest.links, {}, &ShipLink::path);
  std::ranges::sort(manifest.directories);
  if (auto ok = check_tree(manifest); !ok) return ok;
  if (auto ok = check_files(manifest); !ok) return ok;
  for (const auto& link : manifest.links)
    if (!leads_inside(link.path, link.target))
      return fail(ErrorCode::invalid,
                  fmt::format("The link '{}' leads out of the directory, to '{}'.", link.path,
                              to_utf8(link.target)),
                  "Name it in .pacelineignore, and let the job use that path itself.");
  if (to_text(manifest).size() > kManifestBytesMax)
    return fail(ErrorCode::too_large, "The names of the directory's files are over 4 MiB.",
                "Name what the job doesn't need in .pacelineignore.");
  return {};
}

std::string to_text(const Manifest& manifest) {
  JsonWriter json;
  json.begin_object().key("files").begin_array();
  for (const auto& file : manifest.files) {
    json.begin_object().field("path", file.path).field("mode", file.mode);
    json.field("bytes", file.bytes).field("sha256", file.sha256).end_object();
  }
  json.end_array().key("links").begin_array();
  for (const auto& link : manifest.links)
    json.begin_object().field("path", link.path).field("target", link.target).end_object();
  json.end_array().key("directories").begin_array();
  for (const auto& directory : manifest.directories) json.value(directory);
  json.end_array().end_object();
  return json.take();
}

Result<Manifest> read_manifest(std::string_view text) {
  const auto json = parse_json(text, kManifestBounds);
  if (!json) return fail(json.error());
  Manifest manifest;
  ObjectReader reader(*json, "manifest");
  const auto* files = array_of(reader, *json, "files");
  const auto* links = array_of(reader, *json, "links");
  reader.require({"directories"}).texts("directories", manifest.directories, kShipEntriesMax);
  if (auto read = reader.finish(); !read) return fail(std::move(read.error()));
  if (auto read = read_list(*files, read_file_entry, manifest.files); !read)
    return fail(std::move(read.error()));
  if (auto read = read_list(*links, read_link_entry, manifest.links); !read)
    return fail(std::move(read.error()));
  if (auto tidied = tidy_manifest(manifest); !tidied) return fail(std::move(tidied.error()));
  return manifest;
}

std::string ship_name(std::string_view text) { return to_hex(sha256(text)); }

bool is_ship_name(std::string_view name) { return sha256_from_hex(name).has_value(); }

}  // namespace paceline
