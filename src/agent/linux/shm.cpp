#include "agent/linux/shm.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <optional>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include "agent/linux/claim.hpp"
#include "agent/linux/files.hpp"
#include "files/random_name.hpp"

namespace paceline::agent {
namespace {

constexpr long kNamespaceFs = 0x6e736673;
constexpr int kTries = 16;
constexpr mode_t kForEverybody = 01777;
constexpr std::string_view kOver = "over.";  // begins the name of what is to be emptied

// Only what the kernel can be asked in a child of a process with threads.
bool may_make_namespaces(const char* directory) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(enter_memory(directory, -1) == 0 ? 0 : 1);
  int status = 1;
  if (child < 0) return false;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// A namespace can be made only by entering it: on a thread of its own, which ends there.
UniqueFd new_ipc_namespace() {
  UniqueFd made;
  try {
    std::thread([&] {
      if (::unshare(CLONE_NEWIPC) == 0)
        made.reset(::open("/proc/thread-self/ns/ipc", O_RDONLY | O_CLOEXEC));
    }).join();
  } catch (const std::system_error&) {
    return {};
  }
  return made;
}

bool is_mine(const std::string& directory) {
  struct stat info {};
  return ::lstat(directory.c_str(), &info) == 0 && S_ISDIR(info.st_mode) &&
         info.st_uid == ::geteuid();
}

}  // namespace

int enter_memory(const char* directory, int ipc) {
  if (::unshare(CLONE_NEWNS) != 0) return errno;
  // What the machine mounts later is seen; what is mounted here is not seen by the machine.
  if (::mount("none", "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0) return errno;
  if (::mount(directory, kSharedMemory, nullptr, MS_BIND, nullptr) != 0) return errno;
  if (ipc >= 0 && ::setns(ipc, CLONE_NEWIPC) != 0) return errno;
  return 0;
}

bool in_shared_memory(const std::string& path) {
  const std::string below = std::string(kSharedMemory) + "/";
  return (path + "/").starts_with(below);
}

bool is_namespace(int fd) {
  struct statfs info {};
  return ::fstatfs(fd, &info) == 0 && info.f_type == kNamespaceFs;
}

GangMemory::GangMemory(std::string name)
    : base_(std::string(kSharedMemory) + "/" + std::move(name)) {
  permitted_ = ::geteuid() == 0 && make_base() && may_make_namespaces(base_.c_str());
}

GangMemory::~GangMemory() { ::rmdir(base_.c_str()); }

// Anybody may have made something of that name before: it is moved out of the way.
Result<void> GangMemory::make_base() const {
  if (::mkdir(base_.c_str(), 0700) == 0 || is_mine(base_)) return {};
  if (errno != EEXIST) return fail(system_error(fmt::format("'{}' can't be made", base_), errno));
  const std::string aside = base_ + "." + random_name();
  if (::rename(base_.c_str(), aside.c_str()) == 0 && ::mkdir(base_.c_str(), 0700) == 0) return {};
  return fail(system_error(fmt::format("'{}' can't be made", base_), errno));
}

std::string GangMemory::directory_of(const GangKey& gang) const {
  return fmt::format("{}/{}.{}", base_, gang.first.value, gang.second.value);
}

Result<GivenMemory> GangMemory::give(const GangKey& gang) {
  const std::string directory = directory_of(gang);
  for (int i = 0; ::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST; ++i) {
    const int error = errno;
    if (i == kTries || error != ENOENT)
      return fail(system_error("The worker's shared memory can't be made", error));
    if (auto made = make_base(); !made) return fail(made.error());
  }
  if (::chmod(directory.c_str(), kForEverybody) != 0)
    return fail(system_error("The worker's shared memory can't be made", errno));
  const auto [ipc, fresh] = ipc_.try_emplace(gang);
  if (fresh) ipc->second = new_ipc_namespace();
  if (!ipc->second) return GivenMemory{directory, {}};
  UniqueFd copy(::fcntl(ipc->second.get(), F_DUPFD_CLOEXEC, 0));
  if (!copy) return fail(system_error("The worker's shared memory can't be made", errno));
  return GivenMemory{directory, std::move(copy)};
}

void GangMemory::adopt(const GangKey& gang, pid_t main) {
  if (main <= 0 || ipc_.contains(gang)) return;
  UniqueFd ipc(::open(("/proc/" + std::to_string(main) + "/ns/ipc").c_str(), O_RDONLY | O_CLOEXEC));
  if (ipc) ipc_.emplace(gang, std::move(ipc));
}

void GangMemory::forget(const GangKey& gang) {
  ipc_.erase(gang);
  const std::string over = fmt::format("{}/{}{}", base_, kOver, random_name());
  ::rename(directory_of(gang).c_str(), over.c_str());
}

std::optional<std::vector<GangKey>> GangMemory::known() const {
  const auto found = names();
  if (!found) return std::nullopt;
  std::vector<GangKey> gangs;
  for (const std::string& name : *found)
    if (const auto key = parse_claim_name(name + ".0")) gangs.emplace_back(key->job, key->born);
  return gangs;
}

std::optional<std::vector<std::string>> GangMemory::forgotten() const {
  const auto found = names();
  if (!found) return std::nullopt;
  std::vector<std::string> directories;
  for (const std::string& name : *found)
    if (name.starts_with(kOver)) directories.push_back(base_ + "/" + name);
  return directories;
}

// A base that is not there, or is somebody else's, holds nothing.
std::optional<std::vector<std::string>> GangMemory::names() const {
  errno = 0;
  if (!is_mine(base_)) {
    if (errno == 0 || errno == ENOENT) return std::vector<std::string>{};
    return std::nullopt;
  }
  auto names = read_directory(base_);
  if (!names) return std::nullopt;
  return std::move(*names);
}

}  // namespace paceline::agent
