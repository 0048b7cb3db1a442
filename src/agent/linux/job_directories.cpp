#include "agent/linux/job_directories.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "agent/linux/accounts.hpp"
#include "agent/linux/files.hpp"
#include "agent/linux/laid_checkpoint.hpp"
#include "agent/linux/remove_tree.hpp"
#include "base/number.hpp"
#include "files/as_user.hpp"
#include "files/inquiry.hpp"
#include "files/random_name.hpp"

namespace paceline::agent {
namespace {

using Steady = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kMakingsEvery{20};
constexpr std::chrono::milliseconds kRemovalsEvery{100};
constexpr std::chrono::seconds kAgainAfter{2};
constexpr std::size_t kShownDigits = 16;
constexpr DiskSpace kRoomBeside{64U << 20, 1'024};

bool is_directory_of(const std::string& path, std::uint32_t uid) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == uid;
}

// "7-9f86d081884c7d65" → 7.
std::optional<JobId> job_of(std::string_view name) {
  const auto id = parse_number<std::uint32_t>(name.substr(0, name.find('-')));
  return id && *id > 0 ? std::optional(JobId{*id}) : std::nullopt;
}

// What is half removed is nobody's directory.
std::vector<std::string> set_aside(const std::string& folder, JobId job) {
  std::vector<std::string> paths;
  for (const std::string& name : list_directory(folder)) {
    if (job_of(name) != job || name.ends_with(".part")) continue;
    std::string path = folder + "/" + name;
    const std::string aside = fmt::format("{}-{}.gone", path, random_name());
    if (!name.ends_with(".gone") && ::rename(path.c_str(), aside.c_str()) == 0) path = aside;
    paths.push_back(std::move(path));
  }
  return paths;
}

std::uint32_t owner_of(const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0 ? info.st_uid : 0;
}

// With the rights of its user, who may have moved there what is somebody else's.
Removal remove_one(const std::string& path) {
  {
    const auto as = AsUser::begin(UserRights::of(owner_of(path)));
    if (!as) return Removal::stuck;
    if (const Removal emptied = empty_tree(path); emptied != Removal::done) return emptied;
  }
  if (::rmdir(path.c_str()) == 0 || errno == ENOENT) return Removal::done;
  return errno == ENOTEMPTY ? Removal::more : Removal::stuck;
}

using Owner = std::optional<Unpacking::Owner>;

Result<void> unpack_for(const WorkerLaunch& launch, const std::string& store, const std::string& to,
                        const Owner& owner, const std::set<std::string>& fresh) {
  if (is_directory_of(to, launch.uid)) return {};
  remove_one(to);
  return unpack_ship({store, launch.uid, launch.launch.shipped.ship, to, owner, fresh});
}

// By way of a directory beside those of jobs: root unpacks, and the user moves.
Result<void> lay_for(const WorkerLaunch& launch, const std::string& store, const Arrived& to,
                     const std::string& aside, const Owner& owner,
                     const std::set<std::string>& fresh) {
  remove_one(aside);
  auto laid = unpack_ship({store, launch.uid, launch.copy->ship, aside, owner, fresh});
  if (laid) laid = lay_checkpoint({aside, to.checkpoint, launch.uid});
  remove_one(aside);
  return laid;
}

bool exists(const std::string& path, std::uint32_t uid) {
  const auto as = AsUser::begin(UserRights::of(uid));
  std::error_code ignored;
  return as && std::filesystem::exists(path, ignored);
}

// What it wrote itself is there, or something newer by its own will.
bool is_laid(const WorkerLaunch& launch, const std::string& path, const std::string& node) {
  const auto& copy = *launch.copy;
  if (copy.node == node && exists(path, launch.uid)) return true;
  return lies_there(path, copy.ship, launch.uid);
}

}  // namespace

// First the directory comes, then the checkpoint, each only where it travels. Outcomes are told by other
// threads, and looked for on the loop.
struct JobDirectories::Making {
  enum class Part { directory, checkpoint };
  WorkerLaunch launch;
  std::string key;
  Arrived arrives;
  Part part = Part::directory;
  Steady::time_point since = Steady::now();
  std::vector<Made> made;                   // all who asked for it
  std::vector<std::function<void()>> late;  // the same, until they are told
  std::optional<Steady::time_point> again_at;
  std::optional<Error> lost;  // what was wrong at first
  bool has_come = false;      // and is to be unpacked
  std::optional<Inquiry<std::uint32_t>> group;
  Owner owner;  // of what is unpacked
  std::mutex mutex;
  std::set<std::string> fresh;  // of what was brought
  std::optional<Result<void>> lacking, brought, unpacked;

  // False: the name service hasn't said yet.
  bool knows_owner() {
    if (::geteuid() != 0 || owner) return true;
    const auto& groups = launch.launch.groups;
    if (groups.empty() && !group) group.emplace([uid = launch.uid] { return find_gid(uid); });
    const auto gid = groups.empty() ? group->answer() : groups.front();
    if (gid) owner = Unpacking::Owner{launch.uid, *gid};
    return gid.has_value();
  }
  [[nodiscard]] const std::string& ship() const {
    return part == Part::directory ? launch.launch.shipped.ship : launch.copy->ship;
  }

  void tell(std::optional<Result<void>> Making::*what, Result<void> outcome) {
    const std::lock_guard held(mutex);
    this->*what = std::move(outcome);
  }
  std::optional<Result<void>> take(std::optional<Result<void>> Making::*what) {
    const std::lock_guard held(mutex);
    return std::exchange(this->*what, std::nullopt);
  }
};

// Of what no job needs any more.
struct JobDirectories::Removals {
  std::mutex mutex;
  std::set<std::string> begun;     // and not over
  std::vector<std::string> again;  // of these: a part is left

  void take(const std::string& path, Removal outcome) {
    const std::lock_guard held(mutex);
    if (outcome == Removal::more)
      again.push_back(path);
    else
      begun.erase(path);
  }
};

JobDirectories::JobDirectories(boost::asio::io_context& io, std::string directory, std::string node,
                               ShipSource source)
    : directory_(std::move(directory) + "/jobs"),
      node_(std::move(node)),
      source_(std::move(source)),
      look_(io),
      removals_(std::make_shared<Removals>()),
      remove_(io) {}

JobDirectories::~JobDirectories() = default;

std::string JobDirectories::path_of(const WorkerLaunch& launch) const {
  return fmt::format("{}/{}-{}", directory_, launch.key.job.value,
                     launch.launch.shipped.ship.substr(0, kShownDigits));
}

std::shared_ptr<JobDirectories::Making> JobDirectories::new_making(
    const WorkerLaunch& launch) const {
  auto making = std::make_shared<Making>();
  making->launch = launch;
  making->key = path_of(launch) + (launch.copy ? "-" + launch.copy->ship : "");
  if (!launch.launch.shipped.ship.empty()) making->arrives.directory = path_of(launch);
  if (!launch.copy) return making;
  const auto& inside = launch.copy->inside;
  const bool travels = !inside.empty() && !making->arrives.directory.empty();
  making->arrives.checkpoint =
      travels ? making->arrives.directory + "/" + inside : launch.checkpoint;
  return making;
}

void JobDirectories::make(const WorkerLaunch& launch, Made made, std::function<void()> late) {
  auto making = new_making(launch);
  const auto found =
      std::ranges::find_if(makings_, [&](const auto& each) { return each->key == making->key; });
  const bool fresh = found == makings_.end();
  if (!fresh) making = *found;
  making->made.push_back(std::move(made));
  making->late.push_back(std::move(late));
  if (!fresh) return;
  makings_.push_back(making);
  if (making->arrives.directory.empty()) making->part = Making::Part::checkpoint;
  begin(making);
  if (!look_.set()) look_.after(std::chrono::milliseconds{0}, [this] { look(); });
}

Chores& JobDirectories::chores_of(std::uint32_t uid) { return users_chores_[uid]; }

// What is there already needs not come.
void JobDirectories::begin(const std::shared_ptr<Making>& making) {
  if (making->part == Making::Part::checkpoint)
    return chores_of(making->launch.uid).add([making, node = node_] {
      const bool laid = is_laid(making->launch, making->arrives.checkpoint, node);
      making->tell(laid ? &Making::unpacked : &Making::lacking, {});
    });
  if (is_directory_of(making->arrives.directory, making->launch.uid))
    making->unpacked = Result<void>{};
  else
    bring(making);
}

// Users may pass through the folder of all, and look into their own alone.
void JobDirectories::bring(const std::shared_ptr<Making>& making) {
  using What = std::optional<Result<void>> Making::*;
  constexpr What kBrought = &Making::brought;
  const bool directory = making->part == Making::Part::directory;
  const auto& shipped = making->launch.launch.shipped;
  if (source_.store.empty() || !source_.bring)
    return making->tell(kBrought,
                        fail(ErrorCode::not_found, "No directory travels to this machine.",
                             "Put it on a file system that the nodes share."));
  if (auto room = make_directories(directory_, 0711); !room) return making->tell(kBrought, room);
  ::chmod(directory_.c_str(), 0711);
  const DiskSpace least = directory ? DiskSpace{2 * shipped.bytes + kRoomBeside.bytes,
                                                shipped.files + kRoomBeside.inodes}
                                    : kRoomBeside;
  if (auto room = look_for_room(directory_, least); !room) return making->tell(kBrought, room);
  source_.bring(making->launch.key.job, making->launch.uid, making->ship(),
                [making](Result<std::set<std::string>> done) {
                  if (!done) return making->tell(kBrought, fail(std::move(done.error())));
                  making->fresh.merge(*done);
                  making->tell(kBrought, {});
                });
}

void JobDirectories::unpack(const std::shared_ptr<Making>& making) {
  if (!making->knows_owner()) return;
  making->has_come = false;
  if (making->part == Making::Part::directory)
    return chores_.add([making, store = source_.store] {
      making->tell(&Making::unpacked, unpack_for(making->launch, store, making->arrives.directory,
                                                 making->owner, making->fresh));
    });
  const auto aside = fmt::format("{}/{}-{}.laid", directory_, making->launch.key.job.value,
                                 making->ship().substr(0, kShownDigits));
  chores_of(making->launch.uid).add([making, store = source_.store, aside] {
    making->tell(&Making::unpacked, lay_for(making->launch, store, making->arrives, aside,
                                            making->owner, making->fresh));
  });
}

void JobDirectories::look() {
  for (const auto& making : std::list(makings_)) look(making);
  if (!makings_.empty()) look_.after(kMakingsEvery, [this] { look(); });
}

void JobDirectories::look(const std::shared_ptr<Making>& making) {
  const auto now = Steady::now();
  if (making->again_at && *making->again_at <= now) {
    making->again_at.reset();
    bring(making);
  }
  if (making->take(&Making::lacking)) bring(making);
  if (auto brought = making->take(&Making::brought)) {
    if (!*brought)
      making->tell(&Making::unpacked, std::move(*brought));
    else
      making->has_come = true;
  }
  if (making->has_come) unpack(making);
  if (auto unpacked = making->take(&Making::unpacked))
    return take_outcome(making, std::move(*unpacked));
  if (now - making->since < source_.late) return;
  for (const auto& late : std::exchange(making->late, {})) late();
}

// A job that can't have its directory fails. For its checkpoint it waits.
Error JobDirectories::lost_error(const Making& making) {
  if (making.part == Making::Part::directory) return *making.lost;
  return {ErrorCode::unavailable,
          "The copy of its newest checkpoint can't be had from the server: " + making.lost->message,
          {},
          Retry::may_help};
}

// What is lost or damaged is brought anew, once.
void JobDirectories::take_outcome(const std::shared_ptr<Making>& making, Result<void> outcome) {
  const bool lacks = !outcome && (outcome.error().code == ErrorCode::data ||
                                  outcome.error().code == ErrorCode::not_found);
  if (lacks && !making->lost) {
    making->lost = std::move(outcome.error());
    return bring(making);
  }
  if (lacks) outcome = fail(lost_error(*making));
  const auto now = Steady::now();
  const bool may_help = !outcome && !lacks && outcome.error().retry == Retry::may_help;
  if (may_help && now - making->since < source_.patience) {
    making->again_at = now + kAgainAfter;
    return;
  }
  if (outcome && making->part == Making::Part::directory) {
    if (!making->fresh.empty())
      restocking_.add([uid = making->launch.uid, fresh = std::exchange(making->fresh, {}),
                       store = source_.store] { restock_ships(store, uid, fresh); });
    making->lost.reset();
    making->part = Making::Part::checkpoint;
    if (making->launch.copy) return begin(making);
  }
  makings_.remove(making);
  Result<Arrived> made = making->arrives;
  if (!outcome) made = fail(std::move(outcome.error()));
  for (const Made& each : making->made) each(made);
}

void JobDirectories::remove(JobId job) {
  for (const std::string& path : set_aside(directory_, job)) {
    const std::lock_guard held(removals_->mutex);
    if (removals_->begun.insert(path).second) begin_removal(path);
  }
  go_on_removing();
}

// What users fill is removed by their own chores, a part at a time.
void JobDirectories::begin_removal(const std::string& path) {
  chores_of(owner_of(path)).add([path, removals = removals_] {
    removals->take(path, remove_one(path));
  });
}

void JobDirectories::go_on_removing() {
  const std::lock_guard held(removals_->mutex);
  for (const std::string& path : std::exchange(removals_->again, {})) begin_removal(path);
  if (!removals_->begun.empty() && !remove_.set())
    remove_.after(kRemovalsEvery, [this] { go_on_removing(); });
}

std::set<JobId> JobDirectories::jobs() const {
  std::set<JobId> jobs;
  for (const std::string& name : list_directory(directory_))
    if (const auto job = job_of(name)) jobs.insert(*job);
  return jobs;
}

}  // namespace paceline::agent
