// A claim is a file, and files are damaged: every bit of one is turned, and every length tried, with
// strangers beside it. Whatever it says then, nobody is signalled by it, and as long as somebody
// holds its lock its worker counts as alive.
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "agent/linux/files.hpp"
#include "agent/linux/marks.hpp"
#include "agent/linux/signals.hpp"
#include "agent/linux/testing.hpp"
#include "files/write_all.hpp"

namespace paceline::agent {
namespace {

constexpr std::size_t kBatch = 100;
constexpr int kWaits = 10;  // of half a minute each, at most: all of /proc is read for each claim

// Keys of one length, so that all claims have one.
constexpr std::uint32_t kFirstJob = 1001;

ProcessKey nth(std::size_t i) { return key(kFirstJob + static_cast<std::uint32_t>(i)); }

// A process that does nothing, as `uid`, with one entry in its environment.
pid_t start_bystander(std::uint32_t uid, const std::string& entry) {
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  if (::setresuid(uid, uid, uid) != 0) ::_exit(1);
  const char* environment[] = {entry.c_str(), nullptr};
  ::execle("/bin/sleep", "sleep", "100000", nullptr, environment);
  ::_exit(1);
}

// A change to the bytes of a claim.
struct Damage {
  std::size_t at = 0;
  int bit = 0;  // -1: cut off here
  void apply(std::string& claim) const {
    if (bit < 0)
      claim.resize(at);
    else
      claim[at] = static_cast<char>(claim[at] ^ (1 << bit));
  }
};

class Crowd {
 public:
  explicit Crowd(const std::string& directory) {
    const std::string foreign = Marks(directory + "/elsewhere").marker(key(1));
    pids_ = {start_bystander(65534, "A=1"), start_bystander(0, foreign), start_bystander(0, "="),
             start_bystander(0, "PACELINE_WORKER=")};
    for (const pid_t pid : pids_)
      eventually([&] { return contents("/proc/" + std::to_string(pid) + "/comm") == "sleep\n"; });
  }
  [[nodiscard]] bool lives() const {
    return std::all_of(pids_.begin(), pids_.end(), [](pid_t pid) { return runs(pid); });
  }
  [[nodiscard]] pid_t one() const { return pids_[0]; }

 private:
  std::vector<pid_t> pids_;
};

// A claim as a supervisor that was killed leaves it, but with strangers for its processes.
void write_claim(const std::string& directory, const std::string& boot, const ProcessKey& key,
                 const Crowd& crowd) {
  const Marks marks(directory);
  WorkerOrder order;
  order.key = key;
  order.boot_id = boot;
  order.command = {"true"};
  order.marker = marks.marker(key);
  order.slots = {0};
  order.control = fmt::format("no-such-{}", key.job.value);
  const auto claim = ClaimFile::create(marks.claim_path(key), order);
  claim->write(WorkerProcesses{identify(crowd.one()), identify(crowd.one())});
  claim->write_notice();
  claim->write(TailPosition{1, 2, 3});
}

void damage(const std::string& path, const Damage& damage) {
  std::string text = contents(path);
  damage.apply(text);
  const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC));
  write_all(fd.get(), text);
}

UniqueFd hold(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  ::flock(fd.get(), LOCK_EX | LOCK_NB);
  return fd;
}

// What is wrong once all claims should be let go; empty: nothing.
std::string wait_for_all(TestHost& host) {
  std::string kept;
  const auto all_gone = [&] {
    const auto claims = host->claims();
    const auto one = std::ranges::find_if(claims, [](const Claim& c) { return !c.gone; });
    kept = one == claims.end() ? "" : claim_name(one->key);
    return kept.empty();
  };
  for (int i = 0; i < kWaits; ++i)
    if (host.until(all_gone)) return {};
  return fmt::format("claim {} is held by nobody", kept);
}

// As many claims as there are damages: held by somebody first, then by nobody.
std::string try_batch(const std::string& directory, std::span<const Damage> damages,
                      const Crowd& crowd) {
  const Marks marks(directory);
  std::string boot;
  {
    TestHost host(directory);
    boot = host->boot_id();
  }
  std::vector<UniqueFd> held;
  for (std::size_t i = 0; i < damages.size(); ++i) {
    write_claim(directory, boot, nth(i), crowd);
    damage(marks.claim_path(nth(i)), damages[i]);
    held.push_back(hold(marks.claim_path(nth(i))));
  }
  {
    TestHost host(directory);
    const auto claims = host->claims();
    if (claims.size() != damages.size())
      return fmt::format("only {} claims are held", claims.size());
    for (const Claim& claim : claims) {
      const Damage& done = damages[claim.key.job.value - kFirstJob];
      if (claim.gone) return fmt::format("byte {} bit {}: let go", done.at, done.bit);
      host->perform(GiveNotice{claim.key, SIGTERM});
      host->perform(Kill{claim.key});
    }
    if (!crowd.lives()) return "a bystander was killed while the claims were held";
    host.crash();
  }
  held.clear();
  TestHost host(directory);
  // A process that was slow to show its environment is asked again a second later.
  if (const std::string kept = wait_for_all(host); !kept.empty()) return kept;
  for (std::size_t i = 0; i < damages.size(); ++i) host->perform(Discard{nth(i)});
  const std::string kept = directory + "/agent/damaged";
  if (list_directory(kept).size() != damages.size()) return "a damaged claim was not kept";
  for (const std::string& name : list_directory(kept)) ::unlink((kept + "/" + name).c_str());
  return crowd.lives() ? "" : "a bystander was killed when nobody held the claims";
}

// Every byte; with a sanitizer, for which each search of all processes takes long, some.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::size_t kStep = 37;
#else
constexpr std::size_t kStep = 1;
#endif

std::string try_all(std::size_t step) {
  spdlog::set_level(spdlog::level::off);
  const TempDirectory directory;
  if (::mount("none", directory.path().c_str(), "tmpfs", 0, nullptr) != 0) return "no tmpfs";
  std::vector<Damage> damages;
  {
    TestHost host(directory / "first");
    const Crowd crowd(directory / "first");
    write_claim(directory / "first", host->boot_id(), nth(0), crowd);
    const std::size_t size = contents(Marks(directory / "first").claim_path(nth(0))).size();
    for (std::size_t at = 0; at < size; at += step) {
      damages.push_back({at, -1});
      for (int bit = 0; bit < 8; ++bit) damages.push_back({at, bit});
    }
  }
  const Crowd crowd(directory.path());
  const std::span<const Damage> all(damages);
  for (std::size_t at = 0; at < all.size(); at += kBatch) {
    const auto batch = all.subspan(at, std::min(kBatch, all.size() - at));
    const std::string problem = try_batch(directory / "batch", batch, crowd);
    if (!problem.empty()) return problem;
  }
  return {};
}

TEST(DamagedClaims, NeverHarmAnybodyNorLetASlotGo) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root makes a pid namespace";
  const auto problem = in_pid_namespace([] { return try_all(kStep); });
  if (!problem) GTEST_SKIP() << "no pid namespace here";
  EXPECT_EQ(*problem, "");
}

}  // namespace
}  // namespace paceline::agent
