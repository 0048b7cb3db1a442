#include "board.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <new>

#include "collectives.hpp"

namespace paceline::runtime {
namespace {

constexpr int kMembersMax = 64;
constexpr std::size_t kChunk = std::size_t{256} * 1024;
constexpr std::size_t kAtOnce =
    std::size_t{4} * 1024;                // bytes that are reduced over all ranks before the next
constexpr int kTries = 200, kYields = 2;  // before a wait sleeps
constexpr std::size_t kPage = 4096;

std::size_t rounded(std::size_t size) { return (size + kPage - 1) / kPage * kPage; }

// One byte, and room for two descriptors with it.
struct Letter {
  char byte = 0;
  iovec part{&byte, 1};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(2 * sizeof(int))> room{};
  msghdr message{};

  Letter() {
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = room.data();
    message.msg_controllen = room.size();
  }
  Letter(const Letter&) = delete;
};

bool send_descriptors(int socket, std::span<const int> descriptors) {
  Letter letter;
  msghdr& message = letter.message;
  message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
  cmsghdr* const head = CMSG_FIRSTHDR(&message);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(descriptors.size_bytes());
  std::memcpy(CMSG_DATA(head), descriptors.data(), descriptors.size_bytes());
  if (descriptors.empty()) message.msg_controllen = 0;
  return ::sendmsg(socket, &message, MSG_NOSIGNAL) == 1;
}

// Nothing: the byte has not come yet, or never will; `errno` is EAGAIN for the first.
std::optional<std::vector<Descriptor>> receive_descriptors(int socket) {
  Letter letter;
  msghdr& message = letter.message;
  const auto count = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  if (count == 0) errno = ECONNRESET;
  if (count != 1) return std::nullopt;
  std::vector<Descriptor> received;
  for (cmsghdr* head = CMSG_FIRSTHDR(&message); head != nullptr;
       head = CMSG_NXTHDR(&message, head)) {
    if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS) continue;
    for (std::size_t at = 0; at + sizeof(int) <= head->cmsg_len - CMSG_LEN(0); at += sizeof(int)) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(head) + at, sizeof fd);
      received.emplace_back(fd);
    }
  }
  return received;
}

// Nobody may take away what others look at.
Descriptor make_memory(std::size_t size) {
  Descriptor memory(::memfd_create("paceline", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!memory || ::ftruncate(memory.get(), static_cast<off_t>(size)) != 0 ||
      ::fcntl(memory.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    return {};
  return memory;
}

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

Board::Board(Links& links)
    : links_(links),
      rank_(links.rank()),
      size_(links.size()),
      bytes_(rounded(sizeof(Member) * static_cast<std::size_t>(size_)) +
             kChunk * (2 * static_cast<std::size_t>(size_) + 2)),
      doorbells_(static_cast<std::size_t>(size_)) {}

Board::~Board() {
  links_.while_waiting(nullptr);
  if (memory_ != nullptr) ::munmap(memory_, bytes_);
}

Outcome<std::unique_ptr<Board>> Board::open(Links& links, Collectives& collectives) {
  if (links.size() == 1 || links.size() > kMembersMax || !links.is_local())
    return std::unique_ptr<Board>();
  std::unique_ptr<Board> board(new Board(links));
  Descriptor memory = links.rank() == 0 ? make_memory(board->bytes_) : Descriptor();
  if (auto done = board->exchange(memory); !done) return fail(std::move(done.error()));
  std::int32_t works = board->map(memory) ? 1 : 0;
  auto agreed = collectives.all_reduce(reinterpret_cast<std::byte*>(&works),
                                       {1, PACELINE_INT32, PACELINE_MIN});
  if (!agreed) return fail(std::move(agreed.error()));
  if (works == 0) return std::unique_ptr<Board>();
  links.while_waiting([it = board.get()](const Head& head) { return it->differing(head); });
  return board;
}

// Rank 0 gives the memory; each gives its doorbell. What a member lacks it doesn't give.
Outcome<void> Board::exchange(Descriptor& memory) {
  auto& mine = doorbells_[static_cast<std::size_t>(rank_)];
  mine = Descriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  std::vector<int> given;
  if (mine) given.push_back(mine.get());
  if (mine && memory) given.push_back(memory.get());
  const Head head{.kind = Head::Kind::barrier};
  for (int peer = 0; peer < size_; ++peer) {
    if (peer == rank_) continue;
    const auto socket = links_.data(peer);
    if (!socket) return fail(socket.error());
    if (!send_descriptors(*socket, given)) return fail(links_.ended(peer));
  }
  for (int peer = 0; peer < size_; ++peer) {
    if (peer == rank_) continue;
    const auto socket = links_.data(peer);
    if (!socket) return fail(socket.error());
    auto patience = links_.patience();
    auto received = receive_descriptors(*socket);
    while (!received) {
      if (errno != EAGAIN && errno != EINTR) return fail(links_.ended(peer));
      const std::array<pollfd, 1> waits{pollfd{*socket, POLLIN, 0}};
      if (auto waited = links_.wait(waits, patience, peer, head); !waited) return waited;
      received = receive_descriptors(*socket);
    }
    if (!received->empty()) doorbells_[static_cast<std::size_t>(peer)] = std::move((*received)[0]);
    if (peer == 0 && received->size() > 1) memory = std::move((*received)[1]);
  }
  return {};
}

bool Board::map(const Descriptor& memory) {
  struct stat info {};
  const bool sound = memory && ::fstat(memory.get(), &info) == 0 &&
                     info.st_size == static_cast<off_t>(bytes_) &&
                     (::fcntl(memory.get(), F_GET_SEALS) & F_SEAL_SHRINK) != 0 &&
                     std::ranges::all_of(doorbells_, [](const auto& each) { return bool(each); });
  if (!sound) return false;
  void* const mapped = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, memory.get(), 0);
  if (mapped == MAP_FAILED) return false;
  memory_ = static_cast<std::byte*>(mapped);
  return true;
}

// Fresh memory is zero, as the counters of a member that has done nothing.
Board::Member& Board::member(int rank) const {
  return std::launder(reinterpret_cast<Member*>(memory_))[rank];
}

std::byte* Board::place(int rank, std::uint64_t chunk) const {
  const auto number = 2 * static_cast<std::size_t>(rank) + chunk % 2;
  return memory_ + rounded(sizeof(Member) * static_cast<std::size_t>(size_)) + number * kChunk;
}

std::byte* Board::common(std::uint64_t chunk) const { return place(size_, chunk); }

// ---- who calls what ----

void Board::begin(const Head& head) {
  Member& mine = member(rank_);
  const auto words = std::bit_cast<std::array<std::uint64_t, sizeof(Head) / 8>>(head);
  mine.begins.store(head.number);
  for (std::size_t i = 0; i < words.size(); ++i)
    mine.heads[head.number % 2][i].store(words[i], std::memory_order_release);
  mine.begun.store(head.number, std::memory_order_release);
}

// Of members whose operation of that number is another one; they may have begun the next one since.
std::optional<Failure> Board::differing(const Head& head) const {
  if (head.kind == Head::Kind::message) return std::nullopt;
  for (int rank = 0; rank < size_; ++rank) {
    const Member& other = member(rank);
    if (rank == rank_ || other.begun.load(std::memory_order_acquire) < head.number) continue;
    std::array<std::uint64_t, sizeof(Head) / 8> words;
    for (std::size_t i = 0; i < words.size(); ++i)
      words[i] = other.heads[head.number % 2][i].load(std::memory_order_acquire);
    if (other.begins.load() > head.number + 1) continue;  // readers of its words see it
    auto theirs = std::bit_cast<Head>(words);
    theirs.step = head.step;
    if (!(theirs == head)) return runtime::differing(rank_, head, rank, theirs);
  }
  return std::nullopt;
}

// ---- waiting ----

void Board::publish(Counter counter, std::uint64_t value) {
  (member(rank_).*counter).store(value);
  for (int rank = 0; rank < size_; ++rank) {
    Member& other = member(rank);
    if (rank != rank_ && other.sleeps.load() != 0 && other.sleeps.exchange(0) != 0)
      ::eventfd_write(doorbells_[static_cast<std::size_t>(rank)].get(), 1);
  }
}

Outcome<void> Board::wait_for_all(Counter counter, std::uint64_t value, const Head& head) {
  const int doorbell = doorbells_[static_cast<std::size_t>(rank_)].get();
  auto patience = links_.patience();
  for (int rank = 0; rank < size_; ++rank) {
    const auto& awaited = member(rank).*counter;
    for (int tries = 0; awaited.load() < value; ++tries) {
      if (tries < kTries) {
        relax();
        continue;
      }
      if (tries < kTries + kYields) {
        ::sched_yield();
        continue;
      }
      if (links_.has_left(rank) && awaited.load() < value) return fail(links_.ended(rank));
      member(rank_).sleeps.store(1);
      if (awaited.load() < value) {
        const std::array<pollfd, 1> waits{pollfd{doorbell, POLLIN, 0}};
        if (auto waited = links_.wait(waits, patience, rank, head); !waited) return waited;
      }
      member(rank_).sleeps.store(0);
      eventfd_t rung = 0;
      ::eventfd_read(doorbell, &rung);
    }
  }
  return {};
}

// ---- operations ----

Board::Part Board::own_part(std::size_t chunk_size, const Elements& elements) const {
  const std::size_t each = size_of(elements.type), count = chunk_size / each;
  const auto ranks = static_cast<std::size_t>(size_), own = static_cast<std::size_t>(rank_);
  const std::size_t begin = count * own / ranks, end = count * (own + 1) / ranks;
  return {begin * each, (end - begin) * each};
}

Outcome<void> Board::wait_for_place(std::uint64_t chunk, const Head& head) {
  if (chunk <= 2) return {};
  return wait_for_all(&Member::reduced, chunk - 2, head);
}

Outcome<void> Board::post(Walk& from, std::size_t size, std::uint64_t chunk,
                          const Elements& elements, const Head& head) {
  if (auto done = wait_for_place(chunk, head); !done) return done;
  const auto own = own_part(size, elements);
  const std::span<std::byte> all(place(rank_, chunk), size);
  from.read(all.first(own.begin));
  from.skip(own.size);
  from.read(all.subspan(own.begin + own.size));
  publish(&Member::posted, chunk);
  return {};
}

Outcome<void> Board::all_reduce(std::byte* data, const Elements& elements, const Head& head) {
  const Walk::Piece whole(data, elements.count * size_of(elements.type));
  if (whole.size() <= kWhole) return reduce_whole(whole, ++chunk_, elements, head);
  return all_reduce(std::span(&whole, 1), elements, head);
}

Outcome<void> Board::all_reduce(std::span<const Walk::Piece> tensors, const Elements& elements,
                                const Head& head) {
  const std::size_t total = elements.count * size_of(elements.type);
  const std::size_t chunks = (total + kChunk - 1) / kChunk;
  const auto first = chunk_ + 1;
  chunk_ += chunks;
  const auto size = [&](std::size_t number) { return std::min(kChunk, total - number * kChunk); };
  Walk from(tensors), into(tensors);
  for (std::size_t number = 0; number <= chunks; ++number) {
    if (number < chunks)
      if (auto done = post(from, size(number), first + number, elements, head); !done) return done;
    if (number > 0)
      if (auto done = reduce(into, size(number - 1), first + number - 1, elements, head); !done)
        return done;
  }
  return {};
}

Outcome<void> Board::reduce_whole(std::span<std::byte> bytes, std::uint64_t chunk,
                                  const Elements& elements, const Head& head) {
  if (auto done = wait_for_place(chunk, head); !done) return done;
  std::ranges::copy(bytes, place(rank_, chunk));
  publish(&Member::posted, chunk);
  if (auto done = wait_for_all(&Member::posted, chunk, head); !done) return done;
  if (auto other = differing(head)) return fail(std::move(*other));
  std::array<const std::byte*, kMembersMax> of_all{};
  for (int rank = 0; rank < size_; ++rank)
    of_all[static_cast<std::size_t>(rank)] = place(rank, chunk);
  combine_all(bytes.data(), std::span(of_all).first(static_cast<std::size_t>(size_)), elements);
  publish(&Member::reduced, chunk);
  publish(&Member::taken, chunk);
  return {};
}

// Each member its part, from the first rank to the last; then the whole is copied out.
Outcome<void> Board::reduce(Walk& into, std::size_t size, std::uint64_t chunk,
                            const Elements& elements, const Head& head) {
  if (auto done = wait_for_all(&Member::posted, chunk, head); !done) return done;
  if (auto other = differing(head)) return fail(std::move(*other));
  if (chunk > 2)
    if (auto done = wait_for_all(&Member::taken, chunk - 2, head); !done) return done;
  const std::size_t each = size_of(elements.type);
  const auto own = own_part(size, elements);
  std::array<const std::byte*, kMembersMax> of_all{};
  Walk mine = into;
  mine.skip(own.begin);
  mine.go(
      own.size,
      [&](const std::byte* piece, std::size_t at, std::size_t count) {
        for (int rank = 0; rank < size_; ++rank)
          of_all[static_cast<std::size_t>(rank)] =
              rank == rank_ ? piece : place(rank, chunk) + own.begin + at;
        combine_all(common(chunk) + own.begin + at,
                    std::span(of_all).first(static_cast<std::size_t>(size_)),
                    {count / each, elements.type, elements.op});
      },
      kAtOnce);
  publish(&Member::reduced, chunk);
  if (auto done = wait_for_all(&Member::reduced, chunk, head); !done) return done;
  into.write({common(chunk), size});
  publish(&Member::taken, chunk);
  return {};
}

Outcome<void> Board::barrier(const Head& head) {
  return reduce_whole({}, ++chunk_, {0, PACELINE_UINT8, PACELINE_SUM}, head);
}

}  // namespace paceline::runtime
