#include "agent/linux/looker.hpp"

#include <grp.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <tuple>

#include "agent/linux/fields.hpp"
#include "agent/linux/files.hpp"
#include "agent/linux/renames.hpp"

namespace paceline::agent {
namespace {

constexpr std::string_view kLookerOomScore = "500";
constexpr int kNiceness = 10;
constexpr std::size_t kFieldsMax =
    128;  // bytes of a match's numbers and of the names of its fields

bool become(std::uint32_t uid) {
  if (::geteuid() != 0 || uid == 0) return uid == ::geteuid();
  const passwd* account = ::getpwuid(uid);
  const gid_t group = account != nullptr ? account->pw_gid : static_cast<gid_t>(uid);
  const int groups =
      account != nullptr ? ::initgroups(account->pw_name, group) : ::setgroups(0, nullptr);
  return groups == 0 && ::setresgid(group, group, group) == 0 && ::setresuid(uid, uid, uid) == 0;
}

void be_modest() {
  ::prctl(PR_SET_NAME, "pl-looker");
  ::setpriority(PRIO_PROCESS, 0, kNiceness);
  write_existing("/proc/self/oom_score_adj", kLookerOomScore);
}

std::optional<LookRequest> receive(int socket) {
  std::string text(kLookMessageMax, '\0');
  ssize_t n = 0;
  do n = ::recv(socket, text.data(), text.size(), 0);
  while (n < 0 && errno == EINTR);
  if (n <= 0) return std::nullopt;
  return parse_look_request(std::string_view(text).substr(0, static_cast<std::size_t>(n)));
}

// Of two readings before and after the search: what is written to meanwhile is not complete.
CheckpointSearch look(const LookRequest& request, Renames& renames) {
  renames.read();
  CheckpointSearch found = find_checkpoints(request.pattern, request.directory,
                                            request.newer_than_ns, search_limits(request.entries));
  for (CheckpointMatch& match : found.matches) match.renamed = renames.renamed(match.path);
  renames.read();
  for (CheckpointMatch& match : found.matches)
    match.renamed = match.renamed && renames.renamed(match.path);
  for (const std::string& directory : found.directories) renames.watch(directory);
  return found;
}

}  // namespace

std::string to_text(const LookRequest& request) {
  TextWriter out;
  out.add("uid", request.uid);
  out.add("pattern", request.pattern);
  out.add("directory", request.directory);
  out.add("entries", static_cast<std::int64_t>(request.entries));
  out.add("newer_than_ns", request.newer_than_ns);
  return out.text();
}

std::optional<LookRequest> parse_look_request(std::string_view text) {
  LookRequest request;
  for (const auto& [name, value] : fields(text)) {
    if (name == "uid")
      request.uid = static_cast<std::uint32_t>(field_number(value));
    else if (name == "pattern")
      request.pattern = value;
    else if (name == "directory")
      request.directory = value;
    else if (name == "entries")
      request.entries = static_cast<std::size_t>(field_number(value));
    else if (name == "newer_than_ns") {
      request.newer_than_ns = field_number(value);
      return request;
    }
  }
  return std::nullopt;
}

std::string to_text(CheckpointSearch found) {
  std::ranges::sort(found.matches, [](const CheckpointMatch& a, const CheckpointMatch& b) {
    return std::tie(a.modified_ns, a.path) > std::tie(b.modified_ns, b.path);
  });
  TextWriter out;
  for (const CheckpointMatch& match : found.matches) {
    if (out.text().size() + match.path.size() + 2 * kFieldsMax > kLookMessageMax) {
      found.cut = true;
      break;
    }
    out.add("match", match.path);
    out.add("size", static_cast<std::int64_t>(match.size));
    out.add("modified_ns", match.modified_ns);
    if (match.renamed) out.add("renamed", 1);
  }
  out.add("cut", found.cut ? 1 : 0);
  return out.text();
}

std::optional<CheckpointSearch> parse_checkpoint_search(std::string_view text) {
  CheckpointSearch found;
  for (const auto& [name, value] : fields(text)) {
    if (name == "match")
      found.matches.push_back({.path = std::string(value)});
    else if (name == "size" && !found.matches.empty())
      found.matches.back().size = static_cast<std::uint64_t>(field_number(value));
    else if (name == "modified_ns" && !found.matches.empty())
      found.matches.back().modified_ns = field_number(value);
    else if (name == "renamed" && !found.matches.empty())
      found.matches.back().renamed = value == "1";
    else if (name == "cut") {
      found.cut = value == "1";
      return found;
    }
  }
  return std::nullopt;
}

int run_looker(int socket) {
  be_modest();
  bool is_owner = false;
  Renames renames;
  while (const auto request = receive(socket)) {
    ::alarm(kLookSecondsMax);
    if (!is_owner && !become(request->uid)) return 1;
    is_owner = true;
    const std::string answer = to_text(look(*request, renames));
    ::alarm(0);
    if (::send(socket, answer.data(), answer.size(), MSG_NOSIGNAL) < 0) return 1;
  }
  return 0;
}

}  // namespace paceline::agent
