#include "link/ship_fetcher.hpp"

#include <fmt/format.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace paceline {
namespace {

constexpr int kRoundsMax = 3;
constexpr std::size_t kFetchesMax = 16;

}  // namespace

ShipFetcher::ShipFetcher(Options options)
    : options_(std::move(options)),
      store_([this] {
        auto store = options_.store;
        store.comes_for = {};
        store.in_use = [this](std::uint32_t uid, const std::string& name) {
          return std::ranges::any_of(fetches_, [&](const auto& each) {
            return each.second.ship.uid == uid && each.second.ship.ship == name;
          });
        };
        return store;
      }()),
      wakes_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

void ShipFetcher::fetch(JobsShip ship, Done done) {
  {
    const std::lock_guard held(mutex_);
    asked_.emplace_back(std::move(ship), std::move(done));
  }
  ::eventfd_write(wakes_.get(), 1);
}

void ShipFetcher::begin() {
  on_the_way_ = wants_ = 0;
  said_.clear();
  for (auto& [job, fetch] : fetches_) {
    fetch.awaited.clear();
    fetch.text.clear();
    fetch.again = fetch.manifest.has_value();
  }
}

// Of a job one after the other: what comes is told apart by the job alone.
bool ShipFetcher::take_up(std::pair<JobsShip, Done>& asked, Instant now) {
  auto& [ship, done] = asked;
  if (fetches_.size() >= kFetchesMax || fetches_.contains(ship.job)) return false;
  Fetch& fetch = fetches_[ship.job];
  fetch.ship = std::move(ship);
  fetch.done = std::move(done);
  fetch.progress = now;
  return true;
}

void ShipFetcher::look(Instant now) {
  eventfd_t ignored = 0;
  ::eventfd_read(wakes_.get(), &ignored);
  {
    const std::lock_guard held(mutex_);
    for (auto asked = asked_.begin(); asked != asked_.end();)
      asked = take_up(*asked, now) ? asked_.erase(asked) : std::next(asked);
  }
  std::vector<JobId> late, anew;
  for (const auto& [job, fetch] : fetches_) {
    if (now - fetch.progress >= options_.patience)
      late.push_back(job);
    else if (fetch.again && fetch.awaited.empty())
      anew.push_back(job);
  }
  for (const JobId job : late)
    finish(job, fail(ErrorCode::unavailable,
                     "The job's directory doesn't come from the server: the connection for it is "
                     "cut or hangs.",
                     "", Retry::may_help));
  for (const JobId job : anew) look_what_is_missing(fetches_.at(job));
}

void ShipFetcher::finish(JobId job, Fetched outcome) {
  const auto found = fetches_.find(job);
  if (found == fetches_.end()) return;
  for (const auto bytes : found->second.awaited) {
    on_the_way_ -= bytes;
    --wants_;
  }
  const Done done = std::move(found->second.done);
  fetches_.erase(found);
  done(std::move(outcome));
}

// ---- asking ----

std::optional<std::string> ShipFetcher::next() {
  if (!said_.empty()) {
    auto line = std::move(said_.front());
    said_.erase(said_.begin());
    return line;
  }
  if (wants_ >= kShipWantsMax || on_the_way_ + kPieceBytesMax > kShipAskedMax) return std::nullopt;
  const auto after = fetches_.upper_bound(turn_);
  for (auto it = after; it != fetches_.end(); ++it)
    if (auto line = next_of(it->second)) return line;
  for (auto it = fetches_.begin(); it != after; ++it)
    if (auto line = next_of(it->second)) return line;
  return std::nullopt;
}

void ShipFetcher::ask(Fetch& fetch, std::uint64_t bytes) {
  turn_ = fetch.ship.job;
  fetch.awaited.push_back(bytes);
  on_the_way_ += bytes;
  ++wants_;
}

std::optional<std::string> ShipFetcher::next_of(Fetch& fetch) {
  if (fetch.again) return std::nullopt;
  if (!fetch.manifest) {
    if (!fetch.awaited.empty()) return std::nullopt;
    ask(fetch, kPieceBytesMax);
    return encode(ShipWanted{fetch.ship.job, fetch.ship.ship, fetch.text.size()});
  }
  if (fetch.file >= fetch.missing.size()) return std::nullopt;
  const ShipFile& file = fetch.missing[fetch.file];
  const auto bytes = std::min<std::uint64_t>(kPieceBytesMax, file.bytes - fetch.from);
  auto line = encode(ShipWanted{fetch.ship.job, file.sha256, fetch.from});
  ask(fetch, bytes);
  fetch.from += bytes;
  if (fetch.from >= file.bytes) {
    ++fetch.file;
    fetch.from = 0;
  }
  return line;
}

// ---- what comes ----

void ShipFetcher::answered(Fetch& fetch) {
  if (fetch.awaited.empty()) return;
  on_the_way_ -= fetch.awaited.front();
  --wants_;
  fetch.awaited.erase(fetch.awaited.begin());
}

void ShipFetcher::take(const ShipPart& part, std::string_view bytes, Instant now) {
  const auto found = fetches_.find(part.job);
  if (found == fetches_.end()) return;
  Fetch& fetch = found->second;
  fetch.progress = now;
  answered(fetch);
  if (fetch.again) return fetch.awaited.empty() ? look_what_is_missing(fetch) : void();
  if (fetch.manifest)
    take_file(fetch, part, bytes);
  else
    take_manifest(fetch, part, bytes);
}

void ShipFetcher::take(const NoShipPart& none, Instant) {
  finish(none.job, fail(ErrorCode::not_found, none.message, none.hint));
}

void ShipFetcher::take_manifest(Fetch& fetch, const ShipPart& part, std::string_view bytes) {
  const JobId job = fetch.ship.job;
  if (part.sha256 != fetch.ship.ship || part.from != fetch.text.size()) return;
  fetch.text += bytes;
  const bool whole = fetch.text.size() >= part.of || bytes.empty();
  if (!whole && fetch.text.size() <= kManifestBytesMax) return;
  auto manifest = read_manifest(fetch.text);
  if (!manifest || ship_name(fetch.text) != fetch.ship.ship)
    return finish(job, fail(ErrorCode::data, "The list of the job's shipped files is damaged.",
                            "Submit the job again."));
  fetch.manifest = std::move(*manifest);
  look_what_is_missing(fetch);
}

void ShipFetcher::look_what_is_missing(Fetch& fetch) {
  fetch.again = false;
  fetch.file = fetch.from = 0;
  fetch.missing.clear();
  if (!fetch.manifest) return;
  auto offered = store_.offer(fetch.ship.uid, *fetch.manifest);
  if (!offered) {
    offered.error().retry = Retry::may_help;
    return finish(fetch.ship.job, fail(std::move(offered.error())));
  }
  fetch.missing = std::move(offered->missing);
  std::ranges::sort(fetch.missing, {}, &ShipFile::sha256);
  // There is nothing to be asked for of an empty file.
  std::erase_if(fetch.missing, [&](const ShipFile& file) {
    return file.bytes == 0 && store_.take(fetch.ship.uid, {file.sha256, 0, 0}, "").has_value();
  });
  if (fetch.missing.empty()) go_on(fetch);
}

// Nothing is asked for any more.
void ShipFetcher::go_on(Fetch& fetch) {
  if (store_.has(fetch.ship.uid, fetch.ship.ship))
    return finish(fetch.ship.job, std::move(fetch.fresh));
  if (++fetch.rounds < kRoundsMax) return look_what_is_missing(fetch);
  finish(fetch.ship.job,
         fail(ErrorCode::storage, "The job's shipped files don't stay on this node.", "",
              Retry::may_help));
}

// It is not as long as its manifest says, or less of it came than is asked for.
bool ShipFetcher::is_cut(const Fetch& fetch, const ShipPart& part, std::string_view bytes) {
  const auto file = std::ranges::lower_bound(fetch.missing, part.sha256, {}, &ShipFile::sha256);
  if (file == fetch.missing.end() || file->sha256 != part.sha256) return false;
  const auto rest = file->bytes - std::min(part.from, file->bytes);
  return part.of != file->bytes || bytes.size() < std::min<std::uint64_t>(kPieceBytesMax, rest);
}

void ShipFetcher::find_damaged(const ShipPart& part) {
  said_.push_back(encode(ShipDamaged{part.job, part.sha256}));
  finish(part.job,
         fail(ErrorCode::data, "A shipped file of the job is damaged.", "Submit the job again."));
}

void ShipFetcher::take_file(Fetch& fetch, const ShipPart& part, std::string_view bytes) {
  if (is_cut(fetch, part, bytes)) return find_damaged(part);
  const ShipPiece piece{part.sha256, part.from, static_cast<std::uint32_t>(bytes.size())};
  auto taken = store_.take(fetch.ship.uid, piece, bytes);
  if (!taken && taken.error().code == ErrorCode::invalid) return find_damaged(part);
  if (!taken && taken.error().code != ErrorCode::conflict)
    return finish(part.job, fail(std::move(taken.error())));
  if (!taken && ++fetch.rounds >= kRoundsMax)
    return finish(part.job, fail(ErrorCode::unavailable,
                                 "Too many jobs bring their shipped files to this node at once.",
                                 "", Retry::may_help));
  if (taken && *taken) fetch.fresh.insert(part.sha256);
  fetch.again = !taken;
  if (!fetch.awaited.empty()) return;
  if (fetch.again) return look_what_is_missing(fetch);
  if (fetch.file >= fetch.missing.size()) go_on(fetch);
}

}  // namespace paceline
