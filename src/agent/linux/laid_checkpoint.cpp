#include "agent/linux/laid_checkpoint.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "agent/linux/files.hpp"
#include "agent/linux/remove_tree.hpp"
#include "files/as_user.hpp"
#include "files/random_name.hpp"
#include "ship/pack.hpp"

namespace paceline::agent {
namespace {

namespace fs = std::filesystem;

tl::unexpected<Error> not_laid(const std::string& path, int reason) {
  auto error = system_error(fmt::format("The checkpoint '{}' can't be put back", path), reason);
  return fail(std::move(error));
}

// A file takes the place of another in one step; a directory's has to be empty.
bool take_place(const fs::path& from, const fs::path& to) {
  if (::rename(from.c_str(), to.c_str()) == 0) return true;
  if (errno != ENOTEMPTY && errno != EEXIST && errno != ENOTDIR && errno != EISDIR) return false;
  const fs::path aside = to.string() + ".paceline-" + random_name();
  if (::rename(to.c_str(), aside.c_str()) != 0) return false;
  const bool taken = ::rename(from.c_str(), to.c_str()) == 0;
  const int reason = errno;
  if (taken) remove_tree(aside.string());
  errno = reason;
  return taken;
}

}  // namespace

bool lies_there(const std::string& path, const std::string& ship, std::uint32_t uid) {
  const auto as = AsUser::begin(UserRights::of(uid));
  if (!as) return false;
  const fs::path there(path);
  const auto manifest = pack({.directory = there.parent_path(),
                              .paths = {there.filename().string()},
                              .ignores = false,
                              .bytes_max = kManifestSumMax});
  return manifest && ship_name(to_text(*manifest)) == ship;
}

Result<void> lay_checkpoint(const Laying& laying) {
  const auto as = AsUser::begin(UserRights::of(laying.uid));
  if (!as) return fail(as.error());
  const fs::path to(laying.path);
  const fs::path from = fs::path(laying.from) / to.filename();
  std::error_code error;
  fs::create_directories(to.parent_path(), error);
  if (error) return not_laid(laying.path, error.value());
  if (take_place(from, to)) return {};
  if (errno != EXDEV) return not_laid(laying.path, errno);
  const fs::path beside = laying.path + ".paceline-" + random_name();
  fs::copy(from, beside, fs::copy_options::recursive | fs::copy_options::copy_symlinks, error);
  const bool taken = !error && take_place(beside, to);
  const int reason = error ? error.value() : errno;
  if (!taken) remove_tree(beside.string());
  return taken ? Result<void>{} : not_laid(laying.path, reason);
}

}  // namespace paceline::agent
