// The log of a job's processes of one number: DIR/logs/<job>/rank<n>.log, mode 0600, the owner's.
// No two of them live at once; the number is the rank that the process was started with, unless one
// that lived then had it. It is only ever appended to, over attempts and generations; a mark line
// says where each process begins:
//   --- attempt 2, generation 5, rank 0 of 4, 2026-11-20T10:00:00Z ---
// The worker writes to the file itself, so nothing has to be alive for its output to be kept.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.hpp"
#include "base/time.hpp"
#include "files/fd.hpp"
#include "model/worker.hpp"

namespace paceline::agent {

using LogKey = std::pair<JobId, std::int32_t>;  // a job's log, or timeline, of that number

// "2026-11-20T10:00:00Z", as our lines in a log write a time.
std::string utc(WallTime time);

// Of the log or the timeline (files/log_names.hpp).
std::string log_path(const std::string& server_directory, JobId job, std::int32_t number);
std::string mark_line(const WorkerLaunch& worker, WallTime now);

// Opens a log or a timeline with these flags of open(2); one that it makes has mode 0600. A lease that
// a process of its owner holds on it keeps nobody waiting: then errno is EWOULDBLOCK. What is opened
// blocks, as a worker's output should.
UniqueFd open_log(const std::string& path, int flags);
// What went wrong with one, in a sentence that begins with `what`. conflict: a lease, which is no want of
// this machine, so that it holds back that start alone.
Error log_error(std::string_view what, int reason);

// Makes the file where it is missing, gives it to the worker's user, and appends the mark. Answers
// where the worker's own output begins. Errors: storage, forbidden, conflict (a lease).
Result<std::int64_t> begin_log(const std::string& server_directory, const WorkerLaunch& worker,
                               WallTime now);

// Whoever wrote to it last may have been killed in the middle of a line.
bool ends_in_a_line(int fd, off_t size);

// Appends a line for the owner: "--- sentence ---". What can't be written is left out.
void add_log_note(const std::string& path, std::string_view sentence);

}  // namespace paceline::agent
