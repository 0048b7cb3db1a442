// A claim on disk: the file DIR/agent/workers/<job>.<born>.<number>, which says that this
// process was started here. Making it is exclusive, so a worker starts once however often it is
// asked for. It is flock'ed from before the supervisor exists until that is gone: whoever gets this
// lock knows that nobody supervises. It holds
//
//   the order       what to start, written by the agent before anyone can act on it (WorkerOrder)
//   the processes   the supervisor, before it starts anything, and the main process, once that runs
//                   (WorkerProcesses)
//   the notice      that one was given
//   the ending      how it ended, once nothing of its process tree is left (WorkerEnding)
//   the tail        how far reports are stored (report_ledger.hpp)
//
// Every part, the order too, is sealed by a digest that also covers the worker's key; what is not
// exactly what was written counts as nothing, and nobody is signalled by it. The version before
// wrote no digests (ClaimFormat::plain): such claims are followed, but nobody is signalled by them
// either.
//
// It is one file because making and removing files is most of what a short job costs. All but the
// order have their room from the start, so that a worker that fills the disk can't end without a
// trace. Nothing is fsync'ed: a claim has to survive the death of agent, server and supervisor, for
// which the page cache is enough; after a crash of the machine the boot id differs, every claim is
// over, and its content no longer matters.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "agent/linux/claim_text.hpp"
#include "agent/linux/process.hpp"
#include "base/result.hpp"
#include "files/fd.hpp"

namespace paceline::agent {

// The name of the variable that marks every process of a worker; see marks.hpp.
inline constexpr std::string_view kMarkerName = "PACELINE_WORKER";

struct WorkerProcesses {
  ProcessId supervisor;
  ProcessId main;
};

// How far the reports of a worker are stored; see report_ledger.hpp.
struct TailPosition {
  std::uint64_t offset = 0;        // of the log: lines up to here are
  std::uint64_t other = 0;         // number of the last report that was no line
  std::int64_t checkpoint_ns = 0;  // when the newest checkpoint file that counted was written
  std::uint64_t other_at = 0;      // where reading the log was at the last report that was no line
};

// What a whole claim is worth.
enum class ClaimState {
  exact,       // as it was written
  plain,       // of the format without digests, and complete as far as that can be seen
  unfinished,  // its writer died over it: nothing was started by it
  damaged,     // can't be read, isn't what was written, or says what this version does not know
};

class ClaimFile {
 public:
  // Makes the claim and takes its lock, for the supervisor to inherit. Errors: conflict (it is
  // there), storage.
  static Result<ClaimFile> create(const std::string& path, const WorkerOrder& order);
  // A second, unlocked descriptor of a claim; empty if there is none, or it is no plain file.
  // REQUIRES: the path ends in the claim's name.
  static ClaimFile open(const std::string& path);
  ClaimFile(UniqueFd fd, ProcessKey key);
  // One that was just made: the key is that of the order in it.
  explicit ClaimFile(UniqueFd fd);

  [[nodiscard]] explicit operator bool() const { return static_cast<bool>(fd_); }
  [[nodiscard]] UniqueFd release() { return std::move(fd_); }
  [[nodiscard]] const ProcessKey& key() const { return key_; }
  [[nodiscard]] ClaimFormat format() const { return format_; }
  // False once it is certain that nothing of it was started or will be: no supervisor has taken it
  // on, and none can any more. Takes the lock if that is free.
  [[nodiscard]] bool begun() const;
  // Somebody removed the file: no agent will ever know of its worker again.
  [[nodiscard]] bool is_removed() const;
  // Takes the lock without waiting; false while somebody else holds it.
  [[nodiscard]] bool lock() const;
  // True if the process is one of those that hold the claim open and goes by a supervisor's name:
  // the kernel's word, not the file's.
  [[nodiscard]] bool is_supervised_by(pid_t pid) const;

  [[nodiscard]] ClaimState state() const;

  // Nothing, nobody, no notice and the beginning where a part was never written, or is not what was
  // written.
  [[nodiscard]] std::optional<WorkerOrder> order() const;
  [[nodiscard]] WorkerProcesses processes() const;
  [[nodiscard]] std::optional<WorkerEnding> ending() const;
  // An ending stands there as it was written, by a version that knows more than this one.
  [[nodiscard]] bool has_unknown_ending() const;
  [[nodiscard]] bool noticed() const;
  [[nodiscard]] TailPosition tail() const;

  // False: errno says why.
  bool write(const WorkerProcesses& processes) const;
  void write(const WorkerEnding& ending) const;
  void write_notice() const;
  void write(const TailPosition& tail) const;

 private:
  // A part of the file: each is written by one process, in one write.
  struct Part {
    std::size_t at;
    std::size_t size;
  };
  enum class PartState { absent, exact, damaged };
  static constexpr Part kTail{0, 40};
  static constexpr Part kNotice{40, 24};
  static constexpr Part kPlainTail{0, 32};
  static constexpr Part kPlainNotice{32, 32};
  static constexpr Part kProcesses{64, 448};
  static constexpr Part kEnding{512, 3584};
  static constexpr std::size_t kOrderAt = 4096;

  [[nodiscard]] const Part& tail_part() const;
  [[nodiscard]] const Part& notice_part() const;
  // Nothing where the file can't be read.
  [[nodiscard]] std::optional<std::string> read_at(std::size_t offset, std::size_t size) const;
  [[nodiscard]] std::optional<std::string> order_text() const;
  [[nodiscard]] std::uint64_t seal(const Part& part, std::string_view content) const;
  [[nodiscard]] PartState look(const Part& part, std::string& content) const;
  [[nodiscard]] std::string read(const Part& part) const;
  bool write(const Part& part, std::string_view content) const;

  UniqueFd fd_;
  ProcessKey key_;
  ClaimFormat format_ = ClaimFormat::sealed;
};

// The name that a supervisor shows as, as far as the kernel keeps one: "pl-7.2.0".
std::string supervisor_name(const ProcessKey& key);

}  // namespace paceline::agent
