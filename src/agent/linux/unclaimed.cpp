#include "agent/linux/unclaimed.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <optional>

#include "agent/linux/files.hpp"
#include "agent/linux/process.hpp"
#include "agent/wants.hpp"

namespace paceline::agent {
namespace {

constexpr std::string_view kDeleted = " (deleted)";
constexpr std::string_view kSupervisors = "pl-";  // begins their names
constexpr std::size_t kEntriesMax = std::size_t{2} << 20;

// What can't be read is nothing, unless this process lacks something: then errno says what, and the
// search is worth nothing.
class ProcessSearch {
 public:
  explicit ProcessSearch(const Marks& marks) : marks_(marks) {
    const std::string path = marks.claim_path({});
    directory_ = path.substr(0, path.rfind('/'));
  }

  // False: this process lacks something.
  bool look_at(pid_t pid, Unclaimed& found) {
    const std::string place = "/proc/" + std::to_string(pid);
    const auto name = read(place + "/comm", kEntriesMax);
    if (name && name->starts_with(kSupervisors) && !take_claims(place + "/fd", found)) return false;
    if (lacks_) return false;
    const auto environment = read(place + "/environ", kEntriesMax);
    if (lacks_) return false;
    const auto stat = environment ? read_stat(pid) : std::nullopt;
    if (stat && stat->state != 'Z' && stat->state != 'X') take_marks(*environment, found);
    return true;
  }

 private:
  std::optional<std::string> read(const std::string& path, std::size_t max) {
    errno = 0;
    auto text = read_file(path, max);
    if (!text) lacks_ = find_want(errno) != nullptr;
    return text;
  }

  bool take_claims(const std::string& place, Unclaimed& found) const {
    errno = 0;
    const auto names = read_directory(place);
    if (!names) return find_want(errno) == nullptr;
    for (const std::string& name : *names) {
      const std::string file = place + "/" + name;
      std::array<char, PATH_MAX> link{};
      const ssize_t size = ::readlink(file.c_str(), link.data(), link.size());
      if (size <= 0) continue;
      const auto key = removed_claim({link.data(), static_cast<std::size_t>(size)}, directory_);
      if (!key) continue;
      UniqueFd fd(::open(file.c_str(), O_RDWR | O_CLOEXEC));
      if (!fd && find_want(errno) != nullptr) return false;
      if (fd) found.removed.emplace_back(*key, ClaimFile(std::move(fd), *key));
    }
    return true;
  }

  void take_marks(std::string_view environment, Unclaimed& found) const {
    const std::string begin = std::string(kMarkerName) + "=";
    while (!environment.empty()) {
      const auto entry = environment.substr(0, environment.find('\0'));
      environment.remove_prefix(std::min(entry.size() + 1, environment.size()));
      if (!entry.starts_with(begin)) continue;
      const auto name = entry.substr(begin.size(), entry.find('@') - begin.size());
      const auto key = parse_claim_name(name);
      if (key && marks_.marker(*key) == entry) found.marked.insert(*key);
    }
  }

  const Marks& marks_;
  std::string directory_;
  bool lacks_ = false;
};

}  // namespace

std::optional<ProcessKey> removed_claim(std::string_view link, const std::string& directory) {
  if (!link.ends_with(kDeleted) || !link.starts_with(directory + "/")) return std::nullopt;
  link.remove_suffix(kDeleted.size());
  return parse_claim_name(link.substr(directory.size() + 1));
}

Result<Unclaimed> find_unclaimed(const Marks& marks) {
  Unclaimed found;
  ProcessSearch search(marks);
  const auto processes = read_directory("/proc");
  if (!processes) return fail(processes.error());
  for (const pid_t pid : all_pids())
    if (pid != ::getpid() && !search.look_at(pid, found))
      return fail(system_error("The machine's processes can't be looked at", errno));
  return found;
}

}  // namespace paceline::agent
