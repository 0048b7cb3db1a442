#include "link/log_sender.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/number.hpp"
#include "files/log_names.hpp"
#include "link/own_log.hpp"

namespace paceline {
namespace {

namespace fs = std::filesystem;

template <class Take>
void for_each_name(const fs::path& folder, Take take) {
  std::error_code error;
  fs::directory_iterator entry(folder, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error))
    take(entry->path().filename().string());
}

// The elements behind that key, then those before and at it.
template <class Map, class Visit>
auto in_turn(Map& map, const typename Map::key_type& last, Visit visit)
    -> decltype(visit(*map.begin())) {
  const auto next = map.upper_bound(last);
  for (auto it = next; it != map.end(); ++it)
    if (auto found = visit(*it)) return found;
  for (auto it = map.begin(); it != next; ++it)
    if (auto found = visit(*it)) return found;
  return std::nullopt;
}

}  // namespace

fs::path LogSender::path_of(const LogName& log) const {
  return options_.directory / "logs" / fmt::format("{}", log.job.value) / log_name(log.number);
}

std::string LogSender::begin(WallTime wall) {
  for (auto& [id, job] : jobs_)
    for (auto& [number, log] : job.logs) log = {.size = log.size, .over = log.over};
  unacknowledged_ = 0;
  flushes_.clear();
  return encode(BytesHello{kBytesVersion, options_.machine, wall});
}

void LogSender::look(Instant now) {
  for_each_name(options_.directory / "logs", [&](const std::string& name) {
    const auto id = parse_number<std::uint32_t>(name);
    if (id && *id > 0) jobs_.try_emplace(JobId{*id});
  });
  for (auto it = jobs_.begin(); it != jobs_.end();) {
    if (!it->second.rests(now, options_.ask_again)) look_at(it->first, it->second, now);
    const bool goes = may_go(it->first, it->second, now);
    if (goes) remove(it->first, it->second);
    it = goes || it->second.logs.empty() ? jobs_.erase(it) : std::next(it);
  }
}

void LogSender::look_at(JobId id, Job& job, Instant now) {
  job.looked_at = now;
  const auto folder = options_.directory / "logs" / fmt::format("{}", id.value);
  for_each_name(folder, [&](const std::string& name) {
    if (const auto number = log_number_in(name)) job.logs.try_emplace(*number);
  });
  for (auto it = job.logs.begin(); it != job.logs.end();) {
    auto& [number, log] = *it;
    std::error_code error;
    const auto size = fs::file_size(path_of({id, number}), error);
    if (error) {
      drop(log);
      it = job.logs.erase(it);
      continue;
    }
    log.size = size;
    ask_again(log, now);
    ++it;
  }
}

void LogSender::remove(JobId id, Job& job) {
  for (auto& [number, log] : job.logs) drop(log);
  options_.remove(id);
}

void LogSender::drop(Log& log) { unacknowledged_ -= log.sent - std::exchange(log.taken, log.sent); }

// Whether the job is over, or the log is wanted now, the server tells only when it is asked.
void LogSender::ask_again(Log& log, Instant now) const {
  const bool idle = log.step == Step::waits || (log.whole() && !log.over);
  if (idle && now - log.standing_at >= options_.ask_again) log.step = Step::to_ask;
}

// Everything of it was acknowledged or is unwanted, for long enough.
bool LogSender::may_go(JobId id, Job& job, Instant now) const {
  if (job.logs.empty()) return false;
  const auto is_unknown = [](const auto& each) { return each.second.unknown(); };
  if (std::ranges::any_of(job.logs, is_unknown)) return false;
  const auto is_unwanted = [](const auto& each) { return each.second.state == LogState::unwanted; };
  const auto is_done = [](const auto& each) { return each.second.over && each.second.whole(); };
  const bool unwanted = std::ranges::all_of(job.logs, is_unwanted);
  const bool done = std::ranges::all_of(job.logs, is_done);
  if (!unwanted && !done) {
    job.done_since.reset();
    return false;
  }
  if (!job.done_since) job.done_since = now;
  if (!job.told_over && !options_.in_use(id)) {
    job.told_over = true;
    options_.over(id);
  }
  const bool kept = !unwanted && now - *job.done_since < options_.keep;
  return !kept && !options_.in_use(id);
}

bool LogSender::Job::sent() const {
  return std::ranges::all_of(logs, [](const auto& each) {
    const Log& log = each.second;
    return log.step == Step::waits || (log.step == Step::sends && log.sent >= log.size);
  });
}

std::optional<std::string> LogSender::next_whole() {
  for (const JobId id : flushes_) {
    const auto job = jobs_.find(id);
    if (job != jobs_.end() && !job->second.sent()) continue;
    flushes_.erase(id);
    return encode(LogsWhole{id});
  }
  return std::nullopt;
}

std::optional<std::string> LogSender::next() {
  if (auto whole = next_whole()) return whole;
  return in_turn(jobs_, turn_, [this](auto& each) {
    auto bytes = next_of(each.first, each.second);
    if (bytes) turn_ = each.first;
    return bytes;
  });
}

std::optional<std::string> LogSender::next_of(JobId id, Job& job) {
  return in_turn(job.logs, job.turn, [&](auto& each) {
    auto bytes = next_of({id, each.first}, each.second);
    if (bytes) job.turn = each.first;
    return bytes;
  });
}

std::optional<std::string> LogSender::next_of(const LogName& name, Log& log) {
  if (log.step == Step::to_ask) {
    log.step = Step::asked;
    return encode(LogAsked{name});
  }
  if (log.step != Step::sends) return std::nullopt;
  if (std::exchange(log.anew, false))
    return encode(PieceHead{name, log.sent, log.sent, 0, WallTime{}, true});
  if (log.sent >= log.size) return std::nullopt;
  if (unacknowledged_ + kPieceBytesMax > kUnacknowledgedMax) return std::nullopt;
  const OwnLog file(path_of(name));
  const auto piece = file ? file.read(log.sent, kPieceBytesMax) : std::nullopt;
  if (!piece) return std::nullopt;
  const PieceHead head{name,          log.sent,
                       piece->offset, static_cast<std::uint32_t>(piece->bytes.size()),
                       piece->at,     false};
  const auto end = piece->offset + piece->bytes.size();
  unacknowledged_ += end - log.sent;
  log.sent = end;
  return encode(head) + piece->bytes;
}

void LogSender::take(const FlushAsked& asked, Instant now) {
  look(now);
  flushes_.insert(asked.job);
}

void LogSender::take(const LogStanding& standing, Instant now) {
  const auto job = jobs_.find(standing.log.job);
  if (job == jobs_.end()) return;
  const auto found = job->second.logs.find(standing.log.number);
  if (found == job->second.logs.end()) return;
  Log& log = found->second;
  log.state = standing.state;
  log.over = standing.over;
  log.standing_at = now;
  unacknowledged_ -= log.sent - log.taken;
  if (standing.state != LogState::taken) {
    log.step = Step::waits;
    log.sent = log.taken;
    return;
  }
  if (log.step == Step::asked) {
    log.step = Step::sends;
    log.anew = standing.taken > log.size;
    log.sent = log.taken = std::min(standing.taken, log.size);
  }
  if (log.step == Step::sends && standing.taken <= log.sent)
    log.taken = std::max(log.taken, standing.taken);
  unacknowledged_ += log.sent - log.taken;
}

}  // namespace paceline
