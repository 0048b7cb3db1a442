#include "agent/wants.hpp"

#include <algorithm>
#include <cerrno>

namespace paceline::agent {
namespace {

// A job's directory may lie on a medium that is read-only by its owner's wish; what
// the kernel itself lacks is the machine's whatever it works on.
constexpr Want kWants[] = {
    {ENOSPC, true, "make room, also for inodes ('df -h', 'df -i')"},
    {EDQUOT, true, "make room within the quota, or have it raised"},
    {EROFS, false, "the file system is mounted read-only: see 'dmesg', then mount it writable"},
    {EMFILE, true, "raise the limit of open files ('ulimit -n') of the server"},
    {ENFILE, true, "raise the machine's limit of open files (fs.file-max)"},
    {EAGAIN, true, "raise the limit of processes (pids.max, 'ulimit -u'), or end some"},
    {ENOMEM, true, "free some memory"},
    {ENOBUFS, true, "free some memory"},
    {ENOLCK, false, "free some memory, or see why files can't be locked there"},
    {EIO, true, "look for a failing disk ('dmesg')"},
};

}  // namespace

std::span<const Want> wants() { return kWants; }

const Want* find_want(int error_number) {
  const auto* found = std::ranges::find(kWants, error_number, &Want::error_number);
  return found == std::end(kWants) ? nullptr : found;
}

Cause blame(StartStep step, int error_number) {
  const Want* want = find_want(error_number);
  const bool machines = want != nullptr && (step == StartStep::server || want->of_the_job);
  return machines ? Cause::refused : Cause::launch_failed;
}

}  // namespace paceline::agent
