// The ships of a server's or a node's users on its disk, each user's for themselves: nobody learns what
// another one has. A file is kept once, by its digest, however many ships hold it.
//
//   DIR/<uid>/ships/<name>     a manifest's canonical text
//   DIR/<uid>/files/<sha256>   a file's bytes
//   DIR/<uid>/parts/<sha256>   one that is not whole yet; these go when a store is opened
//
//   ShipStore store({.directory = dir + "/ships"});
//   auto offered = store.offer(uid, manifest);          // what of it is missing here?
//   store.take(uid, {.sha256 = …, .from = 0}, bytes);   // piece by piece
//   store.has(uid, offered->ship);
//
// Folders are 0700 and files 0600, whole or not there. Nothing waits for the disk: what a loss of power
// damages is found by its digest when it is read. Beyond the bounds the ships used longest ago go, but none
// that is in use or on its way; what was offered counts from then on, whether it has come or not. One thread
// calls it; files are read by anybody who has the right (read_ship_file).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "files/fd.hpp"
#include "ship/manifest.hpp"

namespace paceline {

inline constexpr std::size_t kShipsPerUserMax = 10'000;
inline constexpr std::size_t kShipEntriesPerUserMax = 200'000;  // of all of a user's ships together
inline constexpr std::ptrdiff_t kShipUploadsMax = 16;  // files of a user that are not whole yet

// So many bytes of a file, that follow.
struct ShipPiece {
  std::string sha256;
  std::uint64_t from = 0;
  std::uint32_t bytes = 0;
  friend bool operator==(const ShipPiece&, const ShipPiece&) = default;
};

struct OfferedShip {
  std::string name;
  std::uint64_t bytes = 0;        // of all of its files
  std::vector<ShipFile> missing;  // each digest once
};

class ShipStore {
 public:
  using Instant = std::chrono::steady_clock::time_point;

  struct Options {
    std::filesystem::path directory;  // made where it is missing
    std::uint64_t bytes_per_user_max = std::uint64_t{16} << 30;
    std::uint64_t bytes_max = std::uint64_t{64} << 30;
    // Somebody still wants that ship: it stays.
    std::function<bool(std::uint32_t uid, const std::string& name)> in_use = {};
    // Is there room for so many more bytes? Errors: storage.
    std::function<Result<void>(std::uint64_t bytes)> room = {};
    // So long after its offer, or the newest piece of a file of it, a ship is on its way.
    std::chrono::seconds comes_for = std::chrono::minutes{1};
    std::function<Instant()> now = std::chrono::steady_clock::now;
  };
  explicit ShipStore(Options options);
  ~ShipStore();

  // Keeps the manifest, and makes room for what is missing of it. REQUIRES: it is tidied. Errors:
  // too_large: its files have more than `bytes_max` together, or than a user may have; unavailable: the
  // ships that are in use or on their way leave no room (some are on their way: trying again may help);
  // invalid: a file that is there has another length; storage.
  Result<OfferedShip> offer(std::uint32_t uid, const Manifest& manifest,
                            std::uint64_t bytes_max = kManifestSumMax);
  // Takes the next bytes of a missing file. Several may send one file at a time: what is there of it counts,
  // and other bytes than those begin it anew. Errors: conflict: nobody asked for it, or it doesn't go on there:
  // offer the manifest again; invalid: the bytes are not those of the digest; storage.
  // True: by them the file became whole, and is as its digest says.
  Result<bool> take(std::uint32_t uid, const ShipPiece& piece, std::string_view bytes);
  // The manifest is there, and all of its files.
  [[nodiscard]] bool has(std::uint32_t uid, const std::string& name);
  // The files of that manifest are.
  [[nodiscard]] bool has(std::uint32_t uid, const Manifest& manifest) const;
  // Errors: not_found; data: it is damaged, and removed.
  Result<Manifest> manifest(std::uint32_t uid, const std::string& name);
  // Nobody wants it any more: it goes, unless it is in use.
  void forget(std::uint32_t uid, const std::string& name);
  // It counts as used now, and as no longer on its way.
  void touch(std::uint32_t uid, const std::string& name);

  [[nodiscard]] std::uint64_t bytes(std::uint32_t uid);

 private:
  struct Ship;
  struct User;
  struct Part;

  void load();
  void load(std::uint32_t uid);
  User& user(std::uint32_t uid);
  Result<void> keep_text(std::uint32_t uid, const std::string& name, const std::string& text) const;
  bool agrees(std::uint32_t uid, const ShipFile& file);
  std::vector<ShipFile> missing(std::uint32_t uid, const Manifest& manifest);
  Result<void> make_room(std::uint32_t uid, const std::string& name);
  [[nodiscard]] bool is_wanted(std::uint32_t uid, const std::string& name) const;
  bool comes(const User& user, Ship& ship) const;
  bool any_comes(const std::uint32_t* of, const std::pair<std::uint32_t, std::string>& but);
  bool drop_oldest(const std::uint32_t* of, const std::pair<std::uint32_t, std::string>& but);
  void drop(std::uint32_t uid, const std::string& name);
  void index(User& user, const std::string& name, const Manifest& manifest);
  Result<void> begin_part(std::uint32_t uid, const std::string& digest, std::string_view bytes);
  Result<void> finish(std::uint32_t uid, const std::string& digest, Part& part);
  [[nodiscard]] std::filesystem::path folder(std::uint32_t uid, std::string_view kind) const;

  Options options_;
  bool loaded_ = false;
  std::uint64_t turn_ = 0;
  std::map<std::uint32_t, std::unique_ptr<User>> users_;
  std::map<std::pair<std::uint32_t, std::string>, std::unique_ptr<Part>> parts_;
};

// Some bytes of a file.
struct ShipBytes {
  std::string bytes;
  std::uint64_t of = 0;  // so many has the whole file
};

// At most `max` bytes of a file in a store's directory from there on; the manifest of a ship goes by the
// ship's name. Errors: not_found, conflict, storage.
Result<ShipBytes> read_ship_bytes(const std::filesystem::path& store, std::uint32_t uid,
                                  const std::string& digest, std::uint64_t from, std::size_t max);
// Where a file lies in a store's directory.
std::filesystem::path ship_file_path(const std::filesystem::path& store, std::uint32_t uid,
                                     const std::string& digest);
// Errors: not_found: it isn't there; conflict: its user has a lease on it.
Result<UniqueFd> open_ship_file(const std::filesystem::path& store, std::uint32_t uid,
                                const std::string& digest);
// The manifest, whole and checked against its name. Errors: not_found; data.
Result<Manifest> read_ship(const std::filesystem::path& store, std::uint32_t uid,
                           const std::string& name);
// The manifest isn't there whole, or a file of it isn't there. What can't be read now may be there.
[[nodiscard]] bool is_ship_lost(const std::filesystem::path& store, std::uint32_t uid,
                                const std::string& name);
// A file whose bytes are not those of its digest: it will be missing from now on.
void remove_ship_file(const std::filesystem::path& store, std::uint32_t uid,
                      const std::string& digest);

}  // namespace paceline
