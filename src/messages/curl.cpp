#include "messages/curl.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "base/check.hpp"
#include "files/keyring.hpp"
#include "notify/notify.hpp"

namespace paceline {
namespace {

constexpr int kPayload = 3;  // the descriptor in the child
constexpr int kTimedOut = 28;

std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c != '\n' && c != '\r') out += c;
  }
  return out + "\"";
}

std::string mail_lines(std::string_view to, const MailRelay& relay) {
  std::string text = fmt::format("url = {}\n", in_quotes(relay.url));
  text += fmt::format("mail-from = {}\nmail-rcpt = {}\n", in_quotes("<" + relay.from + ">"),
                      in_quotes(fmt::format("<{}>", to)));
  if (relay.starttls) text += "ssl-reqd\n";
  if (!relay.login.empty()) text += fmt::format("user = {}\n", in_quotes(relay.login));
  return text + fmt::format("upload-file = \"/dev/fd/{}\"\nproto = \"=smtp,smtps\"\n", kPayload);
}

std::string hook_lines(std::string_view address, std::string_view id, const Wires& wires) {
  std::string text = fmt::format("url = {}\n", in_quotes(address));
  text += fmt::format("data-binary = \"@/dev/fd/{}\"\nproto = \"=https,http\"\n", kPayload);
  for (const auto& header :
       {std::string("Content-Type: application/json"), std::string("User-Agent: paceline"),
        std::string("Expect:"), fmt::format("X-Paceline-Message: {}", id),
        fmt::format("Idempotency-Key: {}", id)})
    text += fmt::format("header = {}\n", in_quotes(header));
  if (!wires.proxy.empty()) text += fmt::format("proxy = {}\n", in_quotes(wires.proxy));
  return text;
}

tl::unexpected<Error> no_process(int error) {
  return fail(ErrorCode::storage, fmt::format("curl can't be started: {}.", std::strerror(error)),
              {}, Retry::may_help);
}

// In memory, for anybody who has the descriptor.
Result<UniqueFd> in_memory(const std::string& text) {
  UniqueFd fd(::memfd_create("message", MFD_CLOEXEC));
  if (!fd) return no_process(errno);
  for (std::size_t at = 0; at < text.size();) {
    const auto n = ::write(fd.get(), text.data() + at, text.size() - at);
    if (n <= 0) return no_process(errno);
    at += static_cast<std::size_t>(n);
  }
  ::lseek(fd.get(), 0, SEEK_SET);
  return fd;
}

struct Child {
  const char* program;
  char* const* arguments;
  char* const* environment;
  std::array<int, 4> descriptors;  // in their order from 0 on
  const Rights* rights;            // nullptr: as it is
};

// Between fork and exec of a process with threads: system calls only.
[[noreturn]] void become(const Child& child) {
  std::array<int, 4> moved{};
  for (std::size_t i = 0; i < moved.size(); ++i)
    moved.at(i) = ::fcntl(child.descriptors.at(i), F_DUPFD, 10);
  for (std::size_t i = 0; i < moved.size(); ++i)
    if (::dup2(moved.at(i), static_cast<int>(i)) < 0) ::_exit(127);
  ::close_range(kPayload + 1, ~0U, 0);
  const Rights* rights = child.rights;
  if (rights != nullptr &&
      (!leave_session_keyring() || ::setgroups(rights->groups.size(), rights->groups.data()) != 0 ||
       ::setgid(rights->gid) != 0 || ::setuid(rights->uid) != 0))
    ::_exit(127);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  if (::chdir("/") != 0) ::_exit(127);
  ::execve(child.program, child.arguments, child.environment);
  ::_exit(127);
}

}  // namespace

std::string curl_config(std::string_view address, std::string_view id, const Wires& wires) {
  check(!is_mail(address) || wires.relay, "mail has a relay");
  std::string text = fmt::format(
      "silent\ngloboff\nconnect-timeout = {}\nmax-time = {}\noutput = \"/dev/null\"\n"
      "write-out = \"%{{response_code}}\"\n",
      kConnectSeconds, kSendSeconds);
  if (!wires.ca_file.empty()) text += fmt::format("cacert = {}\n", in_quotes(wires.ca_file));
  if (is_mail(address)) return text + mail_lines(address.substr(7), *wires.relay);
  return text + hook_lines(address, id, wires);
}

SinkAnswer answer_of(bool mail, int exit_status, int code) {
  if (mail ? exit_status == 0 : code >= 200 && code < 300) return {true, false, {}};
  const bool gone = mail ? code >= 550 && code < 560 : code == 410;
  if (code >= 300) return {false, gone, fmt::format("the answer was {}", code)};
  if (exit_status == kTimedOut) return {false, false, "there was no answer in time"};
  return {false, false, fmt::format("it could not be reached (curl: {})", exit_status)};
}

Result<Rights> rights_of(std::uint32_t uid) {
  std::vector<char> space(16 << 10);
  passwd entry{};
  passwd* found = nullptr;
  if (::getpwuid_r(uid, &entry, space.data(), space.size(), &found) != 0 || found == nullptr)
    return fail(ErrorCode::not_found, fmt::format("There is no account {} any more.", uid));
  Rights rights{uid, entry.pw_gid, std::vector<gid_t>(1 << 10)};
  int count = static_cast<int>(rights.groups.size());
  if (::getgrouplist(entry.pw_name, entry.pw_gid, rights.groups.data(), &count) < 0) count = 0;
  rights.groups.resize(static_cast<std::size_t>(count));
  return rights;
}

Result<std::string> find_curl() {
  const char* given = std::getenv("PATH");
  std::string_view path = given != nullptr ? given : "/usr/local/bin:/usr/bin:/bin";
  while (!path.empty()) {
    const std::string_view folder = path.substr(0, path.find(':'));
    auto program = fmt::format("{}/curl", folder);
    if (folder.starts_with('/') && ::access(program.c_str(), X_OK) == 0) return program;
    path.remove_prefix(std::min(path.size(), folder.size() + 1));
  }
  return fail(ErrorCode::not_found, "Messages are sent by 'curl', which this machine has not.",
              "Ask its administrator to install it (Debian: apt install curl).");
}

Result<CurlRun> CurlRun::start(const std::string& curl, const std::string& config,
                               const std::string& payload, const std::optional<Rights>& rights) {
  auto input = in_memory(config);
  if (!input) return fail(input.error());
  auto body = in_memory(payload);
  if (!body) return fail(body.error());
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return no_process(errno);
  UniqueFd read_end(ends[0]);
  const UniqueFd write_end(ends[1]);
  const UniqueFd nowhere(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  std::array<std::string, 4> words{"curl", "--disable", "--config", "-"};
  std::array<char*, 5> arguments{words[0].data(), words[1].data(), words[2].data(), words[3].data(),
                                 nullptr};
  std::array<char*, 1> environment{nullptr};
  const Child child{curl.c_str(),
                    arguments.data(),
                    environment.data(),
                    {input->get(), write_end.get(), nowhere.get(), body->get()},
                    rights ? &*rights : nullptr};
  const pid_t pid = ::fork();
  if (pid == 0) become(child);
  if (pid < 0) return no_process(errno);
  return CurlRun(pid, std::move(read_end));
}

CurlRun::CurlRun(CurlRun&& other) noexcept
    : pid_(std::exchange(other.pid_, 0)), said_(std::move(other.said_)) {}

CurlRun::~CurlRun() {
  if (pid_ == 0) return;
  kill();
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void CurlRun::kill() { ::kill(pid_, SIGKILL); }

SinkAnswer CurlRun::finish(bool mail) {
  std::array<char, 64> text{};
  const auto n = std::max<ssize_t>(::read(said_.get(), text.data(), text.size()), 0);
  int code = 0, status = 0;
  std::from_chars(text.data(), text.data() + n, code);
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = 0;
  return answer_of(mail, WIFEXITED(status) ? WEXITSTATUS(status) : kTimedOut, code);
}

}  // namespace paceline
