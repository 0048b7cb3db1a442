#include "agent/linux/unclaimed.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <optional>
#include <utility>

#include "agent/linux/files.hpp"
#include "agent/linux/memory_files.hpp"
#include "agent/linux/process.hpp"
#include "agent/wants.hpp"
#include "base/number.hpp"

namespace paceline::agent {
namespace {

constexpr std::string_view kDeleted = " (deleted)";
constexpr std::string_view kSupervisors = "pl-";  // begins their names

// One that this process lacks something for tells of it by its errno: then the search is worth nothing.
class ProcessSearch {
 public:
  ProcessSearch(const Marks& marks, std::string proc) : marks_(marks), proc_(std::move(proc)) {
    const std::string path = marks.claim_path({});
    directory_ = path.substr(0, path.rfind('/'));
  }

  Result<Unclaimed> look() {
    const auto names = read_directory(proc_);
    if (!names) return fail(names.error());
    for (const std::string& name : *names)
      if (const auto pid = parse_number<pid_t>(name); pid && *pid != ::getpid())
        pids_.push_back(*pid);
    struct stat info {};
    if (::stat(directory_.c_str(), &info) != 0) return lacking(errno);
    device_ = info.st_dev;
    for (const pid_t pid : pids_)
      if (!take_claims(place(pid))) return lacking(errno);
    if (auto marked = look_for_marks(); !marked) return fail(std::move(marked.error()));
    return std::move(found_);
  }

 private:
  static tl::unexpected<Error> lacking(int error) {
    return fail(system_error("The machine's processes can't be looked at", error));
  }

  [[nodiscard]] std::string place(pid_t pid) const { return proc_ + "/" + std::to_string(pid); }

  // False: this process lacks something.
  bool take_claims(const std::string& place) {
    errno = 0;
    const auto name = read_file(place + "/comm");
    if (!name) return find_want(errno) == nullptr;
    if (!name->starts_with(kSupervisors)) return true;
    errno = 0;
    const auto held = read_directory(place + "/fd");
    if (!held) return find_want(errno) == nullptr;
    for (const std::string& number : *held) {
      const std::string file = place + "/fd/" + number;
      std::array<char, PATH_MAX> link{};
      const ssize_t size = ::readlink(file.c_str(), link.data(), link.size());
      if (size <= 0) continue;
      const auto key = removed_claim({link.data(), static_cast<std::size_t>(size)}, directory_);
      if (key && !take_claim(file, *key)) return false;
    }
    return true;
  }

  // What anybody else may have made is not even opened: that could wait, or do something.
  bool take_claim(const std::string& file, const ProcessKey& key) {
    errno = 0;
    const UniqueFd shown(::open(file.c_str(), O_PATH | O_CLOEXEC));
    if (!shown) return find_want(errno) == nullptr;
    if (!is_own_removed_file(shown.get())) return true;
    const std::string again = "/proc/self/fd/" + std::to_string(shown.get());
    UniqueFd fd(::open(again.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (!fd) return find_want(errno) == nullptr;
    found_.removed.emplace_back(key, ClaimFile(std::move(fd), key));
    return true;
  }

  // As ClaimFile::create() makes one, and on the disk of the claims. Its file system is not asked: the
  // kernel knows that much of a file that is open.
  [[nodiscard]] bool is_own_removed_file(int fd) const {
    struct statx info {};
    if (::statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_BASIC_STATS, &info) != 0)
      return false;
    return ::gnu_dev_makedev(info.stx_dev_major, info.stx_dev_minor) == device_ &&
           info.stx_mode == (S_IFREG | S_IRUSR | S_IWUSR) && info.stx_uid == ::geteuid() &&
           info.stx_nlink == 0;
  }

  // An environment is only read, and what can't be is nobody's.
  Result<void> look_for_marks() {
    std::vector<std::string> paths;
    for (const pid_t pid : pids_) paths.push_back(place(pid) + "/environ");
    std::vector<pid_t> silent;
    int lacks = 0;
    const auto read = read_memory_files(paths, [&](std::size_t i, const MemoryFile& file) {
      if (file.error == ETIMEDOUT) silent.push_back(pids_[i]);
      if (find_want(file.error) != nullptr) lacks = file.error;
      if (file.error == 0 && runs(pids_[i])) take_marks(file.text);
    });
    if (!read) return read;
    if (lacks != 0) return lacking(lacks);
    if (!silent.empty())
      spdlog::warn(
          "Process {}{} doesn't show its environment in time: whether it is left of a worker isn't "
          "known.",
          silent.front(),
          silent.size() > 1 ? fmt::format(" (and {} more)", silent.size() - 1) : "");
    return {};
  }

  [[nodiscard]] bool runs(pid_t pid) const {
    const auto stat = parse_stat(read_file(place(pid) + "/stat").value_or(""));
    return stat && stat->state != 'Z' && stat->state != 'X';
  }

  void take_marks(std::string_view environment) {
    const std::string begin = std::string(kMarkerName) + "=";
    while (!environment.empty()) {
      const auto entry = environment.substr(0, environment.find('\0'));
      environment.remove_prefix(std::min(entry.size() + 1, environment.size()));
      if (!entry.starts_with(begin)) continue;
      const auto name = entry.substr(begin.size(), entry.find('@') - begin.size());
      const auto key = parse_claim_name(name);
      if (key && marks_.marker(*key) == entry) found_.marked.insert(*key);
    }
  }

  const Marks& marks_;
  std::string proc_;
  std::string directory_;
  dev_t device_ = 0;
  std::vector<pid_t> pids_;
  Unclaimed found_;
};

}  // namespace

std::optional<ProcessKey> removed_claim(std::string_view link, const std::string& directory) {
  if (!link.ends_with(kDeleted) || !link.starts_with(directory + "/")) return std::nullopt;
  link.remove_suffix(kDeleted.size());
  return parse_claim_name(link.substr(directory.size() + 1));
}

Result<Unclaimed> find_unclaimed(const Marks& marks, const std::string& proc) {
  return ProcessSearch(marks, proc).look();
}

}  // namespace paceline::agent
