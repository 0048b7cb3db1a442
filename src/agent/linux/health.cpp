#include "agent/linux/health.hpp"

#include <ctime>
#include <utility>

namespace paceline::agent {
namespace {

constexpr auto kHealthInterval = std::chrono::seconds{5};

Duration boottime() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return std::chrono::duration_cast<Duration>(std::chrono::seconds{now.tv_sec} +
                                              std::chrono::nanoseconds{now.tv_nsec});
}

// What can't be looked at once is no reason to start nothing: a start that meets it says so.
std::optional<std::string> disk_problem(const HealthOptions& options) {
  const auto disk = look_at_disk(options.directory);
  if (!disk) return std::nullopt;
  if (disk->read_only) return "The file system of its directory is read-only.";
  if (disk->left.covers(options.room)) return std::nullopt;
  return "Little room is left on the file system of its directory; make room, also for inodes.";
}

}  // namespace

Health::Health(boost::asio::io_context& io, Clock& clock, HealthOptions options,
               std::function<void()> changed)
    : clock_(clock), options_(std::move(options)), changed_(std::move(changed)), timer_(io) {
  if (!options_.check.empty())
    check_.emplace(io, options_.check, options_.check_times, [this] { tell(); });
}

void Health::start() {
  if (check_) check_->start();
  look();
}

void Health::look() {
  disk_ = disk_problem(options_);
  clock_jumps_.look(boottime(), clock_.wall());
  tell();
  timer_.after(kHealthInterval, [this] { look(); });
}

void Health::tell() {
  auto why = disk_;
  if (!why && check_) why = check_->problem();
  if (!why) why = clock_jumps_.problem();
  const bool same = why ? refusal_ && refusal_->why == *why : !refusal_;
  if (same) return;
  refusal_.reset();
  if (why) refusal_ = Refusal{std::move(*why), clock_.now() + Duration(kHealthInterval), true};
  changed_();
}

}  // namespace paceline::agent
