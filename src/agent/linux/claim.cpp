#include "agent/linux/claim.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "agent/linux/files.hpp"
#include "base/digest.hpp"
#include "files/write_all.hpp"

namespace paceline::agent {
namespace {

constexpr std::size_t kMessageMax = 2048;
constexpr std::size_t kSealSize = sizeof(std::uint64_t);
constexpr std::size_t kNameMax = 15;  // that the kernel keeps of a process's name

}  // namespace

std::string supervisor_name(const ProcessKey& key) {
  return ("pl-" + claim_name(key)).substr(0, kNameMax);
}

// ---- the file ----

ClaimFile::ClaimFile(UniqueFd fd, ProcessKey key) : fd_(std::move(fd)), key_(key) {
  if (!fd_) return;
  const std::string first = std::string(kPlainFirst) + '\0';
  if (read_at(kOrderAt, first.size()) == first) format_ = ClaimFormat::plain;
}

ClaimFile::ClaimFile(UniqueFd fd) : ClaimFile(std::move(fd), {}) {
  const auto written = fd_ ? order() : std::nullopt;
  if (written) key_ = written->key;
}

Result<ClaimFile> ClaimFile::create(const std::string& path, const WorkerOrder& order) {
  ClaimFile claim(UniqueFd(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600)),
                  order.key);
  if (!claim) return fail(system_error("The worker's claim '" + path + "' can't be made", errno));
  const std::string text = std::string(kOrderAt, '\0') + to_text(order);
  if (write_all(claim.fd_.get(), text) && claim.lock()) return claim;
  const Error error = system_error("The worker's claim '" + path + "' can't be written", errno);
  ::unlink(path.c_str());
  return fail(error);
}

ClaimFile ClaimFile::open(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat info {};
  if (!fd || ::fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) fd.reset();
  const auto key = parse_claim_name(std::string_view(path).substr(path.rfind('/') + 1));
  return {std::move(fd), key.value_or(ProcessKey{})};
}

bool ClaimFile::is_removed() const {
  struct stat info {};
  return ::fstat(fd_.get(), &info) == 0 && info.st_nlink == 0;
}

bool ClaimFile::lock() const { return ::flock(fd_.get(), LOCK_EX | LOCK_NB) == 0; }

template <class Value>
Value value_in(const std::string& content) {
  Value value;
  if (content.size() >= sizeof value) std::memcpy(&value, content.data(), sizeof value);
  return value;
}

// A part that can't be read may say that somebody has.
bool ClaimFile::begun() const {
  if (!lock()) return true;
  std::string content;
  const PartState state = look(kProcesses, content);
  if (state != PartState::exact) return state == PartState::damaged;
  return value_in<WorkerProcesses>(content).supervisor.pid != 0;
}

bool ClaimFile::is_supervised_by(pid_t pid) const {
  const std::string place = "/proc/" + std::to_string(pid);
  const auto own = file_id(fd_.get());
  if (!own || read_file(place + "/comm") != supervisor_name(key_) + "\n") return false;
  return std::ranges::any_of(list_directory(place + "/fd"), [&](const std::string& name) {
    return file_id(place + "/fd/" + name) == own;
  });
}

std::optional<std::string> ClaimFile::read_at(std::size_t offset, std::size_t size) const {
  std::string text(size, '\0');
  const ssize_t n = ::pread(fd_.get(), text.data(), size, static_cast<off_t>(offset));
  if (n < 0) return std::nullopt;
  text.resize(static_cast<std::size_t>(n));
  return text;
}

const ClaimFile::Part& ClaimFile::tail_part() const {
  static_assert(sizeof(TailPosition) + kSealSize <= kTail.size);
  static_assert(sizeof(TailPosition) <= kPlainTail.size);
  return format_ == ClaimFormat::plain ? kPlainTail : kTail;
}

const ClaimFile::Part& ClaimFile::notice_part() const {
  return format_ == ClaimFormat::plain ? kPlainNotice : kNotice;
}

std::uint64_t ClaimFile::seal(const Part& part, std::string_view content) const {
  return Digest().add(claim_name(key_)).add(std::uint64_t{part.at}).add(content).value();
}

// The content without its seal, padded with zeros. In the format without digests a part is what
// stands there.
ClaimFile::PartState ClaimFile::look(const Part& part, std::string& content) const {
  auto stored = read_at(part.at, part.size);
  if (!stored) return PartState::damaged;
  content = std::move(*stored);
  content.resize(part.size, '\0');
  if (content.find_first_not_of('\0') == std::string::npos) return PartState::absent;
  if (format_ == ClaimFormat::plain) return PartState::exact;
  std::uint64_t sealed = 0;
  std::memcpy(&sealed, &content[part.size - kSealSize], kSealSize);
  content.resize(part.size - kSealSize);
  return sealed == seal(part, content) ? PartState::exact : PartState::damaged;
}

std::string ClaimFile::read(const Part& part) const {
  std::string content;
  return look(part, content) == PartState::exact ? content : std::string{};
}

// What can't be written is learnt again or told in other ways; only the order and the supervisor are
// worth failing for.
bool ClaimFile::write(const Part& part, std::string_view content) const {
  std::string text(content);
  if (format_ == ClaimFormat::sealed) {
    text.resize(part.size - kSealSize, '\0');
    const std::uint64_t sealed = seal(part, text);
    text.append(reinterpret_cast<const char*>(&sealed), kSealSize);
  }
  return ::pwrite(fd_.get(), text.data(), text.size(), static_cast<off_t>(part.at)) ==
         static_cast<ssize_t>(text.size());
}

template <class Value>
std::string_view bytes_of(const Value& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

ClaimState ClaimFile::state() const {
  bool begun = false, whole = true;
  for (const Part& part : {tail_part(), notice_part(), kProcesses, kEnding}) {
    std::string content;
    const PartState state = look(part, content);
    begun = begun || state != PartState::absent;
    whole = whole && state != PartState::damaged;
  }
  const auto text = order_text();
  const auto written = text ? parse_order(*text) : std::nullopt;
  if (!written) return begun || !text ? ClaimState::damaged : ClaimState::unfinished;
  if (!whole || written->key != key_ || has_unknown_ending()) return ClaimState::damaged;
  return format_ == ClaimFormat::sealed ? ClaimState::exact : ClaimState::plain;
}

std::optional<std::string> ClaimFile::order_text() const {
  struct stat info {};
  if (::fstat(fd_.get(), &info) != 0) return std::nullopt;
  const std::size_t end = static_cast<std::size_t>(info.st_size);
  if (end <= kOrderAt || end - kOrderAt > kSmallFileMax) return std::string{};
  return read_at(kOrderAt, end - kOrderAt);
}

std::optional<WorkerOrder> ClaimFile::order() const {
  const auto text = order_text();
  return text ? parse_order(*text) : std::nullopt;
}

WorkerProcesses ClaimFile::processes() const { return value_in<WorkerProcesses>(read(kProcesses)); }

bool ClaimFile::write(const WorkerProcesses& processes) const {
  return write(kProcesses, bytes_of(processes));
}

TailPosition ClaimFile::tail() const { return value_in<TailPosition>(read(tail_part())); }

void ClaimFile::write(const TailPosition& tail) const { write(tail_part(), bytes_of(tail)); }

bool ClaimFile::noticed() const { return read(notice_part()).starts_with('n'); }

void ClaimFile::write_notice() const { write(notice_part(), "n"); }

std::optional<WorkerEnding> ClaimFile::ending() const { return parse_ending(read(kEnding)); }

// Without a digest it may as well be one that was cut off.
bool ClaimFile::has_unknown_ending() const {
  const std::string text = read(kEnding);
  return format_ == ClaimFormat::sealed && !text.empty() && !parse_ending(text);
}

void ClaimFile::write(const WorkerEnding& ending) const {
  WorkerEnding bounded = ending;
  bounded.message.resize(std::min(bounded.message.size(), kMessageMax));
  write(kEnding, to_text(bounded));
}

}  // namespace paceline::agent
