#include "agent/linux/job_directories.hpp"

#include <fmt/format.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "agent/linux/files.hpp"
#include "base/number.hpp"
#include "files/random_name.hpp"

namespace paceline::agent {
namespace {

constexpr std::chrono::milliseconds kMakingsEvery{20};
constexpr int kBringsMax = 2;  // a file that is found damaged is brought anew
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

void remove_all(const std::vector<std::string>& paths) {
  std::error_code ignored;
  for (const std::string& path : paths) std::filesystem::remove_all(path, ignored);
}

// The name service may take its time.
std::optional<Unpacking::Owner> owner_of(const WorkerLaunch& launch) {
  if (::geteuid() != 0) return std::nullopt;
  if (!launch.launch.groups.empty()) return Unpacking::Owner{launch.uid, launch.launch.groups[0]};
  passwd entry{};
  passwd* found = nullptr;
  std::vector<char> space(16 << 10);
  ::getpwuid_r(launch.uid, &entry, space.data(), space.size(), &found);
  return Unpacking::Owner{launch.uid, found == nullptr ? launch.uid : found->pw_gid};
}

Result<void> unpack_for(const WorkerLaunch& launch, const std::string& store,
                        const std::string& to) {
  if (is_directory_of(to, launch.uid)) return {};
  std::error_code ignored;
  std::filesystem::remove_all(to, ignored);
  return unpack_ship({store, launch.uid, launch.launch.shipped.ship, to, owner_of(launch)});
}

}  // namespace

// Its outcomes are told by other threads, and looked for on the loop.
struct JobDirectories::Making {
  WorkerLaunch launch;
  std::string path;
  std::vector<Made> made;  // all who asked for it
  int brings = 0;
  std::optional<Error> lost;  // what was wrong at first
  std::mutex mutex;
  std::optional<Result<void>> brought, unpacked;

  void tell(std::optional<Result<void>> Making::*what, Result<void> outcome) {
    const std::lock_guard held(mutex);
    this->*what = std::move(outcome);
  }
  std::optional<Result<void>> take(std::optional<Result<void>> Making::*what) {
    const std::lock_guard held(mutex);
    return std::exchange(this->*what, std::nullopt);
  }
};

JobDirectories::JobDirectories(boost::asio::io_context& io, std::string directory,
                               ShipSource source)
    : directory_(std::move(directory) + "/jobs"), source_(std::move(source)), look_(io) {}

JobDirectories::~JobDirectories() = default;

std::string JobDirectories::path_of(const WorkerLaunch& launch) const {
  return fmt::format("{}/{}-{}", directory_, launch.key.job.value,
                     launch.launch.shipped.ship.substr(0, kShownDigits));
}

void JobDirectories::make(const WorkerLaunch& launch, Made made) {
  const auto path = path_of(launch);
  for (const auto& each : makings_)
    if (each->path == path) return each->made.push_back(std::move(made));
  auto making = std::make_shared<Making>();
  making->launch = launch;
  making->path = path;
  making->made.push_back(std::move(made));
  makings_.push_back(making);
  if (is_directory_of(making->path, launch.uid))
    making->unpacked = Result<void>{};
  else
    bring(making);
  if (!look_.set()) look_.after(std::chrono::milliseconds{0}, [this] { look(); });
}

// Users may pass through the folder of all, and look into their own alone.
void JobDirectories::bring(const std::shared_ptr<Making>& making) {
  using What = std::optional<Result<void>> Making::*;
  constexpr What kBrought = &Making::brought;
  ++making->brings;
  const auto& shipped = making->launch.launch.shipped;
  if (source_.store.empty() || !source_.bring)
    return making->tell(kBrought,
                        fail(ErrorCode::not_found, "No directory travels to this machine.",
                             "Put it on a file system that the nodes share."));
  if (auto room = make_directories(directory_, 0711); !room) return making->tell(kBrought, room);
  ::chmod(directory_.c_str(), 0711);
  const DiskSpace least{2 * shipped.bytes + kRoomBeside.bytes, shipped.files + kRoomBeside.inodes};
  if (auto room = look_for_room(directory_, least); !room) return making->tell(kBrought, room);
  source_.bring(making->launch.key.job, making->launch.uid, shipped.ship,
                [making](Result<void> done) { making->tell(kBrought, std::move(done)); });
}

void JobDirectories::look() {
  for (const auto& making : std::list(makings_)) {
    if (auto brought = making->take(&Making::brought)) {
      if (!*brought)
        making->tell(&Making::unpacked, std::move(*brought));
      else
        chores_.add([making, store = source_.store] {
          making->tell(&Making::unpacked, unpack_for(making->launch, store, making->path));
        });
    }
    auto unpacked = making->take(&Making::unpacked);
    if (!unpacked) continue;
    const bool lacks = !*unpacked && (unpacked->error().code == ErrorCode::data ||
                                      unpacked->error().code == ErrorCode::not_found);
    if (lacks && !making->lost) making->lost = unpacked->error();
    if (lacks && making->brings > 0 && making->brings < kBringsMax) {
      bring(making);
      continue;
    }
    if (lacks) unpacked = Result<void>(fail(*making->lost));
    makings_.remove(making);
    Result<std::string> outcome = making->path;
    if (!*unpacked) outcome = fail(std::move(unpacked->error()));
    for (const Made& made : making->made) made(outcome);
  }
  if (!makings_.empty()) look_.after(kMakingsEvery, [this] { look(); });
}

void JobDirectories::remove(JobId job) {
  auto aside = set_aside(directory_, job);
  if (!aside.empty()) chores_.add([aside = std::move(aside)] { remove_all(aside); });
}

std::set<JobId> JobDirectories::jobs() const {
  std::set<JobId> jobs;
  for (const std::string& name : list_directory(directory_))
    if (const auto job = job_of(name)) jobs.insert(*job);
  return jobs;
}

void remove_job_directories(const std::string& directory, JobId job) {
  remove_all(set_aside(directory + "/jobs", job));
}

}  // namespace paceline::agent
