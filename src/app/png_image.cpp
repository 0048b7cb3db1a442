#include "app/png_image.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "agent/linux/files.hpp"
#include "files/fd.hpp"
#include "files/write_all.hpp"

extern char** environ;

namespace paceline {
namespace {

constexpr const char* kPainter = "rsvg-convert";

bool is_program(const std::string& path) { return ::access(path.c_str(), X_OK) == 0; }

Error no_memory(int error) {
  return {ErrorCode::storage,
          fmt::format("There is no room for the image: {}.", std::strerror(error)),
          {},
          Retry::may_help};
}

std::string contents_of(int fd) {
  std::string text;
  std::array<char, 65'536> piece{};
  ::lseek(fd, 0, SEEK_SET);
  for (ssize_t n = 0; (n = ::read(fd, piece.data(), piece.size())) != 0;) {
    if (n > 0) text.append(piece.data(), static_cast<std::size_t>(n));
    if (n < 0 && errno != EINTR) break;
  }
  return text;
}

// Its exit status, or nothing where it could not be started.
Result<int> paint(int from, int to) {
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, from, STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, to, STDOUT_FILENO);
  std::array<std::string, 3> words{kPainter, "--zoom=2", "--format=png"};
  std::array<char*, 4> arguments{words[0].data(), words[1].data(), words[2].data(), nullptr};
  pid_t child = 0;
  const int error =
      ::posix_spawnp(&child, kPainter, &actions, nullptr, arguments.data(), ::environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0)
    return fail(ErrorCode::internal,
                fmt::format("'{}' can't be started: {}.", kPainter, std::strerror(error)));
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  return status;
}

}  // namespace

Result<void> find_painter() {
  const char* given = std::getenv("PATH");
  std::string_view path = given != nullptr ? given : "/usr/local/bin:/usr/bin:/bin";
  while (!path.empty()) {
    const std::string_view folder = path.substr(0, path.find(':'));
    if (is_program(fmt::format("{}/{}", folder.empty() ? "." : folder, kPainter))) return {};
    path.remove_prefix(std::min(path.size(), folder.size() + 1));
  }
  return fail(ErrorCode::not_found, fmt::format("A PNG image needs '{}'.", kPainter),
              "Install it (Debian: apt install librsvg2-bin), or give a name that ends in .svg.");
}

Result<std::string> png_of(std::string_view svg) {
  if (auto found = find_painter(); !found) return fail(found.error());
  const UniqueFd from(::memfd_create("drawing", MFD_CLOEXEC));
  const UniqueFd to(::memfd_create("image", MFD_CLOEXEC));
  if (!from || !to || !write_all(from.get(), svg) || ::lseek(from.get(), 0, SEEK_SET) != 0)
    return fail(no_memory(errno));
  const auto status = paint(from.get(), to.get());
  if (!status) return fail(status.error());
  std::string image = contents_of(to.get());
  if (*status != 0 || image.empty())
    return fail(ErrorCode::internal, fmt::format("'{}' can't paint the image.", kPainter),
                "Give a name that ends in .svg instead.");
  return image;
}

}  // namespace paceline
