#include "app/checkpoint_sender.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/eventfd.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <filesystem>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "files/as_user.hpp"
#include "files/chores.hpp"
#include "files/fd.hpp"
#include "ship/pack.hpp"
#include "ship/pieces.hpp"
#include "wire/error_json.hpp"
#include "wire/json.hpp"

namespace paceline {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kBodyBytes = 2 << 20;
constexpr int kRoundsMax = 8;  // of asking and sending, while it changes
// Of statfs(2): what several machines see alike. A file system in user space may be anything; those that are
// mounted so are mostly of networks.
constexpr std::array<std::uint64_t, 17> kShared = {0x6969 /* NFS */,
                                                   0xff534d42 /* CIFS */,
                                                   0xfe534d42 /* SMB2 */,
                                                   0x517b /* SMB */,
                                                   0x00c36400 /* Ceph */,
                                                   0x0bd00bd0 /* Lustre */,
                                                   0x47504653 /* GPFS */,
                                                   0x19830326 /* BeeGFS */,
                                                   0x5346414f /* AFS */,
                                                   0x6b414653 /* kAFS */,
                                                   0x01021997 /* 9P */,
                                                   0x65735546 /* FUSE */,
                                                   0x7461636f /* OCFS2 */,
                                                   0x01161970 /* GFS2 */,
                                                   0xaad7aaea /* PanFS */,
                                                   0x20030528 /* OrangeFS */,
                                                   0x73757245 /* Coda */};

bool is_shared(const fs::path& path) {
  struct statfs info {};
  if (::statfs(path.c_str(), &info) != 0) return false;
  const auto type = static_cast<std::uint64_t>(info.f_type) & 0xffffffffU;
  return std::ranges::find(kShared, type) != kShared.end();
}

// What it holds, under the name that it was acknowledged by; and where that lies.
struct Packed {
  fs::path directory;
  Manifest manifest;                        // as it is sent
  std::map<std::string, ShipFile> sources;  // by digest, as they lie there
};

// A link is followed: what counts is what the job finds there.
Result<Packed> pack_checkpoint(const std::string& path) {
  std::error_code error;
  const fs::path real = fs::canonical(path, error);
  if (error) return fail(ErrorCode::not_found, "it isn't there any more");
  const std::string name = fs::path(path).filename().string(), own = real.filename().string();
  auto manifest = pack({.directory = real.parent_path(),
                        .paths = {own},
                        .ignores = false,
                        .bytes_max = kManifestSumMax});
  if (!manifest) return fail(std::move(manifest.error()));
  Packed packed{real.parent_path(), {}, {}};
  const auto renamed = [&](const std::string& each) { return name + each.substr(own.size()); };
  for (const auto& file : manifest->files) {
    packed.sources.emplace(file.sha256, file);
    packed.manifest.files.push_back({renamed(file.path), file.mode, file.bytes, file.sha256});
  }
  for (const auto& link : manifest->links)
    packed.manifest.links.push_back({renamed(link.path), link.target});
  for (const auto& folder : manifest->directories)
    packed.manifest.directories.push_back(renamed(folder));
  if (auto tidied = tidy_manifest(packed.manifest); !tidied) return fail(std::move(tidied.error()));
  return packed;
}

std::string query_of(const WantedCheckpoint& wanted) {
  return fmt::format("?job={}&born={}&number={}&report={}", wanted.key.job.value,
                     wanted.key.born.value, wanted.key.number, wanted.report);
}

// One checkpoint on its way.
class Sending {
 public:
  Sending(HttpClient& http, const WantedCheckpoint& wanted)
      : http_(http), wanted_(wanted), rights_(UserRights::of(wanted.uid)) {}

  // Errors: conflict: the server doesn't want it (any more); unavailable, storage: trying again may help.
  Result<void> run() {
    const auto shared = as_user([this]() -> Result<bool> { return is_shared(wanted_.path); });
    if (!shared) return refuse(shared.error().message);
    if (*shared) return say(true, {});
    for (int round = 0; round < kRoundsMax; ++round) {
      const auto packed = as_user([this] { return pack_checkpoint(wanted_.path); });
      if (!packed) return refuse(packed.error().message);
      auto sent = send(*packed);
      const bool changed = !sent && sent.error().code == ErrorCode::conflict && changed_;
      if (!changed) return sent;
      changed_ = false;
    }
    return refuse("it changes while it is read: write a new file, and rename it");
  }

 private:
  Result<void> send(const Packed& packed) {
    for (int round = 0; round < kRoundsMax; ++round) {
      const auto answer = post("/v1/checkpoints", to_text(packed.manifest));
      if (!answer) return fail(answer.error());
      const auto missing = answer->find("missing");
      if (missing == answer->end() || missing->empty()) return {};
      for (const auto& digest : *missing) {
        const auto source =
            packed.sources.find(digest.is_string() ? digest.get<std::string>() : std::string());
        if (source == packed.sources.end()) continue;
        auto sent = send_file(packed.directory, source->second);
        if (!sent) return sent;
      }
    }
    return fail(ErrorCode::unavailable, "The server asks for the same again and again.");
  }

  Result<void> send_file(const fs::path& directory, const ShipFile& file) {
    std::uint64_t at = 0;
    do {
      const auto piece = as_user([&] { return pack_piece(directory, file, at, kBodyBytes); });
      changed_ = !piece;
      if (!piece) return fail(ErrorCode::conflict, piece.error().message);
      const auto taken =
          post("/v1/checkpoints/pieces",
               piece_line({file.sha256, at, static_cast<std::uint32_t>(piece->size())}) + *piece,
               "application/octet-stream");
      if (!taken) {
        changed_ =
            taken.error().code == ErrorCode::invalid;  // its bytes are those of another digest
        return fail(changed_ ? Error{ErrorCode::conflict, taken.error().message, {}, Retry::useless}
                             : taken.error());
      }
      at += piece->size();
    } while (at < file.bytes);
    return {};
  }

  // The connection is the agent's own.
  template <class Work>
  auto as_user(Work work) -> decltype(work()) {
    const auto as = AsUser::begin(rights_);
    if (!as) return fail(as.error());
    return work();
  }

  Result<void> refuse(const std::string& why) { return say(false, why); }

  Result<void> say(bool shared, const std::string& why) {
    const Json body{{"shared", shared}, {"why", why.substr(0, 1000)}};
    const auto said =
        post("/v1/checkpoints/unkept", body.dump(-1, ' ', false, Json::error_handler_t::replace));
    if (!said) return fail(said.error());
    return {};
  }

  Result<Json> post(const char* target, std::string body, const char* type = "application/json") {
    ClientRequest request{.method = "POST",
                          .target = target + query_of(wanted_),
                          .body = std::move(body),
                          .content_type = type};
    const auto response = http_.send(request);
    if (!response) return fail(response.error());
    if (response->status >= 300) return fail(read_error(response->body));
    return parse_json(response->body);
  }

  HttpClient& http_;
  const WantedCheckpoint& wanted_;
  UserRights rights_;
  bool changed_ = false;  // it is another one than was said
};

}  // namespace

// Shared with the threads, one of which may hang in a user's file system and outlive all.
struct CheckpointSender::State {
  explicit State(Options given) : options(std::move(given)), over(::eventfd(0, EFD_CLOEXEC)) {}

  // It ends once there is nothing newer, and nothing more to send for that job.
  void work_off(JobId job) {
    auto wait = options.again_first;
    while (auto wanted = next(job)) {
      HttpClient http(options.server([this] { return over.get(); }));
      const auto sent = Sending(http, *wanted).run();
      if (sent || sent.error().code == ErrorCode::conflict || is_over()) {
        done(*wanted);
        wait = options.again_first;
        continue;
      }
      spdlog::debug("The checkpoint '{}' of job {} can't be sent now: {}", wanted->path, job.value,
                    sent.error().message);
      std::unique_lock held(mutex);
      changed.wait_for(held, wait, [&] { return ended; });
      wait = std::min(2 * wait, options.again_max);
    }
  }

  // The newest that is wanted; nothing: there is none.
  std::optional<WantedCheckpoint> next(JobId job) {
    const std::lock_guard held(mutex);
    const auto found = jobs.find(job);
    if (ended || found == jobs.end()) return std::nullopt;
    return found->second;
  }

  void done(const WantedCheckpoint& wanted) {
    const std::lock_guard held(mutex);
    const auto found = jobs.find(wanted.key.job);
    if (found != jobs.end() && found->second == wanted) jobs.erase(found);
  }

  bool is_over() {
    const std::lock_guard held(mutex);
    return ended;
  }

  Options options;
  UniqueFd over;
  std::mutex mutex;
  std::condition_variable changed;
  bool ended = false;
  std::map<JobId, WantedCheckpoint> jobs;   // guarded, as what follows
  std::map<std::uint32_t, Chores> threads;  // of the users
};

CheckpointSender::CheckpointSender(Options options)
    : state_(std::make_shared<State>(std::move(options))) {}

CheckpointSender::~CheckpointSender() {
  std::map<std::uint32_t, Chores> threads;
  {
    const std::lock_guard held(state_->mutex);
    state_->ended = true;
    threads.swap(state_->threads);
  }
  ::eventfd_write(state_->over.get(), 1);
  state_->changed.notify_all();
}

void CheckpointSender::send(WantedCheckpoint wanted) {
  const std::lock_guard held(state_->mutex);
  const JobId job = wanted.key.job;
  const std::uint32_t uid = wanted.uid;
  const bool idle = !state_->jobs.contains(job);
  state_->jobs.insert_or_assign(job, std::move(wanted));
  if (idle) state_->threads[uid].add([state = state_, job] { state->work_off(job); });
}

}  // namespace paceline
