// What the Python tests load in place of NCCL: sums of host memory over processes, by a file in shared memory. It keeps
// NCCL's manners: operations run beside the caller, wait for ever for a rank that doesn't come, and end by an abort.
//
// $STUB_NCCL says what is otherwise, as "version=21003 rank=1 error-at=3":
//   version=N             what ncclGetVersion() says
//   rank=N                what follows is of that rank alone
//   init=error|hang|kill  a communicator can't be formed, or isn't, or the process dies of it
//   error-at=N            the Nth sum breaks the communicator
//   hang-at=N             the Nth sum doesn't end
//   kill-at=N             the process dies when the Nth sum is to begin
//   abort=hang            an abort doesn't return
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>

#include "elements.hpp"

namespace {

constexpr int kSuccess = 0;
constexpr int kSystemError = 2;
constexpr int kInvalidArgument = 4;
constexpr int kRemoteError = 6;
constexpr int kInProgress = 7;
constexpr unsigned kMagic = 0xcafebeef;
constexpr std::size_t kRoom = std::size_t{1} << 16;  // bytes of each rank that are summed at once
constexpr int kRanksMax = 16;

std::string setting(const std::string& name, int rank) {
  const char* all = std::getenv("STUB_NCCL");
  std::istringstream words(all == nullptr ? "" : all);
  std::string word;
  bool mine = true;
  while (words >> word) {
    const std::size_t equals = word.find('=');
    const std::string key = word.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : word.substr(equals + 1);
    if (key == "rank") mine = rank == std::atoi(value.c_str());
    if (mine && key == name) return value;
  }
  return "";
}

void nap() { std::this_thread::sleep_for(std::chrono::microseconds(50)); }

struct Shared {
  std::atomic<int> come;  // ranks that are here
  std::atomic<std::uint64_t>
      arrived[2];  // at the two sides of each chunk, over all chunks and ranks
  alignas(64) std::byte rooms[kRanksMax][kRoom];
};

struct Sum {
  const void* from;
  void* to;
  std::size_t count;
  int type;
};

std::atomic<std::uint64_t> given{0};
std::atomic<std::uint64_t> done{0};

// NCCL's numbers of types.
paceline_type type_of(int type) {
  switch (type) {
    case 6:
      return PACELINE_FLOAT16;
    case 7:
      return PACELINE_FLOAT32;
    case 8:
      return PACELINE_FLOAT64;
    default:
      return PACELINE_BFLOAT16;
  }
}

int own_rank() {
  const char* rank = std::getenv("RANK");
  return rank == nullptr ? 0 : std::atoi(rank);
}

class Communicator {
 public:
  Communicator(const char* name, int ranks, int rank) : name_(name), ranks_(ranks), rank_(rank) {
    const int file = ::open(name, O_RDWR | O_CREAT, 0600);
    if (file < 0 || ::ftruncate(file, sizeof(Shared)) != 0) std::abort();
    void* memory = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    ::close(file);
    if (memory == MAP_FAILED) std::abort();
    shared_ = static_cast<Shared*>(memory);
    thread_ = std::thread([this] { work(); });
  }
  ~Communicator() {
    {
      const std::lock_guard lock(mutex_);
      aborted_ = true;
    }
    changed_.notify_all();
    thread_.join();
    done = given.load();
    ::munmap(shared_, sizeof(Shared));
  }

  [[nodiscard]] int state() const { return state_; }
  void start(const Sum& sum) {
    const std::lock_guard lock(mutex_);
    state_ = kInProgress;
    sums_.push_back(sum);
    ++given;
    changed_.notify_all();
  }
  void wait_until_formed() const {
    while (state_ == kInProgress) nap();
  }

 private:
  bool is(const char* name, const char* value) const { return setting(name, rank_) == value; }
  [[nodiscard]] int number(const char* name) const {
    return std::atoi(setting(name, rank_).c_str());
  }

  void work() {
    if (is("init", "kill")) ::raise(SIGKILL);
    if (is("init", "error")) {
      state_ = kSystemError;
      return;
    }
    ++shared_->come;
    while (!aborted_ && (shared_->come < ranks_ || is("init", "hang"))) nap();
    if (aborted_) return;
    ::unlink(name_.c_str());
    state_ = kSuccess;
    for (int at = 1;; ++at) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return aborted_ || !sums_.empty(); });
      if (aborted_) return;
      const Sum next = sums_.front();
      sums_.pop_front();
      if (sums_.empty()) state_ = kSuccess;  // it is launched
      lock.unlock();
      if (number("kill-at") == at) ::raise(SIGKILL);
      if (number("error-at") == at) state_ = kRemoteError;
      if (number("error-at") == at || number("hang-at") == at || !run(next)) {
        while (!aborted_) nap();
        return;
      }
      ++done;
    }
  }

  bool run(const Sum& it) {
    const paceline_type type = type_of(it.type);
    const std::size_t size = paceline::runtime::size_of(type);
    const std::size_t each = kRoom / size;
    const auto* from = static_cast<const std::byte*>(it.from);
    auto* to = static_cast<std::byte*>(it.to);
    for (std::size_t at = 0; at < it.count; at += each) {
      const std::size_t count = std::min(each, it.count - at);
      std::memcpy(shared_->rooms[rank_], from + at * size, count * size);
      if (!meet(0)) return false;
      std::memcpy(to + at * size, shared_->rooms[0], count * size);
      for (int rank = 1; rank < ranks_; ++rank)
        paceline::runtime::combine(to + at * size, to + at * size, shared_->rooms[rank], count,
                                   type, PACELINE_SUM);
      if (!meet(1)) return false;
      ++chunks_;
    }
    return true;
  }

  bool meet(int side) {
    ++shared_->arrived[side];
    while (shared_->arrived[side] < (chunks_ + 1) * static_cast<std::uint64_t>(ranks_)) {
      if (aborted_) return false;
      nap();
    }
    return true;
  }

  const std::string name_;
  const int ranks_, rank_;
  Shared* shared_ = nullptr;
  std::uint64_t chunks_ = 0;
  std::atomic<int> state_ = kInProgress;
  std::atomic<bool> aborted_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Sum> sums_;
  std::thread thread_;
};

struct UniqueId {
  char name[128];
};

struct Config {
  std::size_t size;
  unsigned magic;
  unsigned version;
  int blocking;
};

}  // namespace

extern "C" {

int ncclGetVersion(int* version) {
  const std::string asked = setting("version", own_rank());
  *version = asked.empty() ? 22809 : std::atoi(asked.c_str());
  return kSuccess;
}

int ncclGetUniqueId(UniqueId* id) {
  static std::atomic<int> ids{0};
  *id = {};
  const std::string name =
      "/dev/shm/paceline-stub-" + std::to_string(::getpid()) + "-" + std::to_string(++ids);
  name.copy(id->name, sizeof id->name - 1);
  return kSuccess;
}

int ncclCommInitRankConfig(Communicator** comm, int ranks, UniqueId id, int rank,
                           const Config* config) {
  int version = 0;
  ncclGetVersion(&version);
  if (config->size != 24 || config->magic != kMagic || config->version > unsigned(version) ||
      config->blocking != 0 || ranks > kRanksMax)
    return kInvalidArgument;
  *comm = new Communicator(id.name, ranks, rank);
  return kInProgress;
}

int ncclCommInitRank(Communicator** comm, int ranks, UniqueId id, int rank) {
  auto made = std::make_unique<Communicator>(id.name, ranks, rank);
  made->wait_until_formed();
  const int state = made->state();
  if (state == kSuccess) *comm = made.release();
  return state;
}

int ncclCommAbort(Communicator* comm) {
  if (setting("abort", own_rank()) == "hang") std::this_thread::sleep_for(std::chrono::hours(1));
  delete comm;
  return kSuccess;
}

int ncclCommGetAsyncError(Communicator* comm, int* state) {
  *state = comm->state();
  return kSuccess;
}

int ncclAllReduce(const void* from, void* to, std::size_t count, int type, int operation,
                  Communicator* comm, void*) {
  if (operation != 0 || comm->state() != kSuccess) return kInvalidArgument;
  comm->start(Sum{from, to, count, type});
  int version = 0;
  ncclGetVersion(&version);
  return version < 21400 ? kSuccess : kInProgress;
}

const char* ncclGetErrorString(int result) {
  return result == kRemoteError ? "remote process exited or there was a network error"
                                : "what the stub was asked for";
}

// How many sums this process has been given, and how many of them ended: what its streams would say.
std::uint64_t stub_given() { return given; }
std::uint64_t stub_done() { return done; }
}
