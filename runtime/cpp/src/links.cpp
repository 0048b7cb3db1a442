#include "links.hpp"

#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <list>
#include <numeric>
#include <set>

#include "bytes.hpp"
#include "rendezvous.hpp"
#include "sentences.hpp"

namespace paceline::runtime {
namespace {

using std::chrono::milliseconds;

constexpr int kAllNeighbours = 64;  // members up to which everybody is connected with everybody
constexpr std::size_t kGreetingsMax = 4096;
constexpr milliseconds kGreetedWithin{10'000};  // else it is a stranger that keeps a place
constexpr milliseconds kWordsFollow{500};       // after a connection for data has ended
constexpr milliseconds kAnswersWithin{500};

Failure lost(int peer) {
  return {PACELINE_LOST, peer, "Rank " + std::to_string(peer) + " is gone: its connection ended."};
}

Failure lacks(const std::string& what) {
  return {PACELINE_SYSTEM, -1, what + ": " + std::strerror(errno) + "."};
}

}  // namespace

// All of this process. In a fork of it they are closed: whoever has a copy of a connection would keep
// a member that has died among the living.
struct LinksOfProcess {
  std::mutex mutex;
  std::set<Links*> all;

  static LinksOfProcess& get() {
    static auto* const links = [] {
      auto* const made = new LinksOfProcess;  // may be needed after all destructors
      ::pthread_atfork([] { get().mutex.lock(); }, [] { get().mutex.unlock(); },
                       [] {
                         for (Links* each : get().all) each->forget();
                         get().mutex.unlock();
                       });
      return made;
    }();
    return *links;
  }
};

void Links::forget() {
  failure_ = Failure{PACELINE_BAD_ARGUMENT, -1, "This process is a fork of the member."};
  for (auto& peer : peers_) {
    peer.control.reset();
    peer.data.reset();
  }
  listener_.local.reset();
  listener_.remote.reset();
  watch_.reset();
  aborted_.reset();
}

Links::Links(Identity own, Listener listener, milliseconds limit)
    : own_(std::move(own)),
      listener_(std::move(listener)),
      limit_(limit),
      text_(listener_.endpoint.text()),
      peers_(static_cast<std::size_t>(own_.size)),
      watch_(::epoll_create1(EPOLL_CLOEXEC)),
      aborted_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  auto& links = LinksOfProcess::get();
  const std::scoped_lock lock(links.mutex);
  links.all.insert(this);
}

Outcome<std::unique_ptr<Links>> Links::open(Identity own, const std::string& address,
                                            milliseconds limit) {
  auto listener = Listener::open(address);
  if (!listener) return fail(std::move(listener.error()));
  std::unique_ptr<Links> links(new Links(std::move(own), std::move(*listener), limit));
  if (!links->watch_ || !links->aborted_) return fail(lacks("No descriptor is left"));
  return links;
}

Links::~Links() {
  {
    auto& links = LinksOfProcess::get();
    const std::scoped_lock lock(links.mutex);
    links.all.erase(this);
  }
  if (!failure_) say_to_all({.kind = Kind::left});
}

bool Links::is_neighbour(int peer) const {
  if (peer == own_.rank) return false;
  if (own_.size <= kAllNeighbours) return true;
  const auto size = static_cast<unsigned>(own_.size);
  const auto away = static_cast<unsigned>(peer - own_.rank + own_.size) % size;
  return std::has_single_bit(away) || std::has_single_bit(size - away);
}

Outcome<void> Links::connect(std::span<const std::string> endpoints) {
  for (const auto& text : endpoints) {
    auto endpoint = Endpoint::parse(text);
    const bool reachable =
        endpoint && (endpoint->host == listener_.endpoint.host || !endpoint->address.empty());
    const auto rank = static_cast<int>(&text - endpoints.data());
    if (!endpoint)
      return fail(PACELINE_BAD_ARGUMENT, rank,
                  "'" + text + "' is no endpoint of a member; paceline_group_endpoint() gives it.");
    if (!reachable)
      return fail(PACELINE_BAD_ARGUMENT, rank,
                  "Rank " + std::to_string(rank) +
                      " runs on another host and gave no address; open its group with one.");
    endpoints_.push_back(std::move(*endpoint));
  }
  std::vector<int> neighbours(static_cast<std::size_t>(own_.size));
  std::iota(neighbours.begin(), neighbours.end(), 0);
  std::erase_if(neighbours, [this](int peer) { return !is_neighbour(peer); });
  return establish(neighbours);
}

Outcome<std::vector<std::string>> Links::meet(const Venue& venue) {
  auto endpoints = rendezvous({own_, text_, venue, patience(), aborted_.get()});
  if (endpoints && endpoints->empty()) return fail(aborted());
  return endpoints;
}

bool Links::is_local() const {
  return std::ranges::all_of(
      endpoints_, [this](const Endpoint& each) { return each.host == listener_.endpoint.host; });
}

Outcome<int> Links::data(int peer) {
  auto& found = peers_[static_cast<std::size_t>(peer)];
  if (!found.data) {
    if (found.left) return fail(ended(peer));
    const std::array<int, 1> wanted{peer};
    if (auto done = establish(wanted); !done) return fail(std::move(done.error()));
  }
  return found.data.get();
}

std::vector<int> Links::missing(std::span<const int> wanted) const {
  std::vector<int> ranks;
  for (const int peer : wanted) {
    const auto& found = peers_[static_cast<std::size_t>(peer)];
    if (!found.control || !found.data) ranks.push_back(peer);
  }
  return ranks;
}

// The member with the higher rank dials, the other waits for it.
class Links::Meeting {
 public:
  Meeting(Links& links, std::span<const int> wanted)
      : links_(links), wanted_(wanted), patience_(links.patience()) {
    for (const int peer : wanted)
      for (const auto kind : {LinkKind::control, LinkKind::data})
        if (peer < links.rank()) dials_.push_back({.peer = peer, .kind = kind});
  }

  Outcome<void> hold() {
    while (!links_.missing(wanted_).empty()) {
      if (auto known = links_.look(); !known) return known;
      if (auto dialled = dial(); !dialled) return dialled;
      if (!wait()) return fail(late());
      accept();
      if (auto greeted = greet(); !greeted) return greeted;
    }
    return {};
  }

 private:
  using Clock = std::chrono::steady_clock;
  struct Met {
    Greeting greeting;
    Clock::time_point since = Clock::now();
  };
  struct Dial {
    int peer;
    LinkKind kind;
    bool runs = false;
    Clock::time_point not_before{};
  };

  [[nodiscard]] bool is_wanted(const Dial& dial) const {
    const auto& peer = links_.peers_[static_cast<std::size_t>(dial.peer)];
    return !dial.runs && !(dial.kind == LinkKind::data ? peer.data : peer.control);
  }

  Outcome<void> dial() {
    rests_ = false;
    for (auto& dial : dials_) {
      if (!is_wanted(dial)) continue;
      if (Clock::now() < dial.not_before) {
        rests_ = true;
        continue;
      }
      const auto& there = links_.endpoints_[static_cast<std::size_t>(dial.peer)];
      auto fd = runtime::dial(links_.listener_.endpoint, there);
      constexpr std::array kWants{EMFILE, ENFILE, ENOBUFS, ENOMEM};
      if (!fd && std::ranges::find(kWants, errno) != kWants.end())
        return fail(lacks("No connection to rank " + std::to_string(dial.peer) + " can be made"));
      if (!fd) {
        put_off(dial);
        continue;
      }
      greetings_.push_back({Greeting::dials(links_.own_, std::move(fd), dial.peer, dial.kind)});
      dial.runs = true;
    }
    return {};
  }

  void put_off(Dial& dial) {
    dial.runs = false;
    dial.not_before = Clock::now() + kDialAgain;
    rests_ = true;
  }

  bool wait() {
    std::vector<pollfd> waits{{links_.aborted_.get(), POLLIN, 0}, {links_.watch_.get(), POLLIN, 0}};
    for (const auto* listener : {&links_.listener_.local, &links_.listener_.remote})
      if (*listener && greetings_.size() < kGreetingsMax)
        waits.push_back({listener->get(), POLLIN, 0});
    for (const auto& each : greetings_) waits.push_back(each.greeting.awaits());
    const bool full = greetings_.size() >= kGreetingsMax;
    return patience_.wait(waits, rests_ || full ? std::optional(kDialAgain) : std::nullopt);
  }

  void accept() {
    const auto take = [this](auto next) {
      while (greetings_.size() < kGreetingsMax) {
        auto fd = next();
        if (!fd) return;
        greetings_.push_back({Greeting::answers(links_.own_, std::move(fd))});
      }
    };
    take([this] { return links_.listener_.accept_local(); });
    if (links_.listener_.remote) take([this] { return links_.listener_.accept_remote(); });
  }

  Outcome<void> greet() {
    for (auto it = greetings_.begin(); it != greetings_.end();) {
      auto& greeting = it->greeting;
      const auto state = greeting.step();
      if (state == Greeting::State::goes_on && Clock::now() - it->since < kGreetedWithin) {
        ++it;
        continue;
      }
      if (greeting.is_foreign())
        return fail(PACELINE_REFUSED, greeting.peer(),
                    "Whoever answers at the endpoint of rank " + std::to_string(greeting.peer()) +
                        " is no member of this generation.");
      if (state == Greeting::State::done && links_.adopt(greeting)) patience_.refresh();
      for (auto& dial : dials_)
        if (greeting.dialled() && dial.peer == greeting.peer() && dial.kind == greeting.kind())
          put_off(dial);
      it = greetings_.erase(it);
    }
    return {};
  }

  [[nodiscard]] Failure late() const {
    const auto missing = links_.missing(wanted_);
    return {
        PACELINE_TIMED_OUT, missing.front(),
        "No connection to " + ranks_text(missing) + " within " + seconds_text(links_.limit_) + "."};
  }

  Links& links_;
  std::span<const int> wanted_;
  Patience patience_;
  std::list<Met> greetings_;
  std::vector<Dial> dials_;
  bool rests_ = false;  // some can be dialled only in a while
};

Outcome<void> Links::establish(std::span<const int> wanted) {
  return Meeting(*this, wanted).hold();
}

// False: it has that connection already.
bool Links::adopt(Greeting& greeting) {
  auto& peer = peers_[static_cast<std::size_t>(greeting.peer())];
  auto& mine = greeting.kind() == LinkKind::data ? peer.data : peer.control;
  if (mine) return false;
  mine = greeting.take();
  if (greeting.kind() == LinkKind::data) return true;
  epoll_event event{.events = EPOLLIN | EPOLLRDHUP,
                    .data = {.u32 = static_cast<std::uint32_t>(greeting.peer())}};
  ::epoll_ctl(watch_.get(), EPOLL_CTL_ADD, mine.get(), &event);
  return true;
}

Outcome<void> Links::look() {
  if (failure_) return fail(*failure_);
  std::array<pollfd, 2> waits{pollfd{aborted_.get(), POLLIN, 0}, pollfd{watch_.get(), POLLIN, 0}};
  if (::poll(waits.data(), waits.size(), 0) <= 0) return {};
  if (waits[0].revents != 0) return fail(aborted());
  return hear();
}

Outcome<void> Links::wait(std::span<const pollfd> descriptors, Patience& patience, int peer,
                          const Head& head) {
  std::array<pollfd, 4> waits;
  const auto end = std::ranges::copy(descriptors, waits.begin()).out;
  const auto count = static_cast<std::size_t>(end - waits.begin());
  waits[count] = {aborted_.get(), POLLIN, 0};
  waits[count + 1] = {watch_.get(), POLLIN, 0};
  const auto all = std::span(waits).first(count + 2);
  for (bool ready = false; !ready;) {
    if (!patience.wait(all, kLookEvery)) return fail(late(peer, patience, head));
    ready = std::ranges::any_of(all, [](const pollfd& each) { return each.revents != 0; });
    const auto found = ready || !looks_ ? std::nullopt : looks_(head);
    if (found) return fail(*found);
  }
  if (waits[count].revents != 0) return fail(aborted());
  if (waits[count + 1].revents != 0) return hear();
  return {};
}

Failure Links::aborted() {
  const std::scoped_lock lock(abort_mutex_);
  return {PACELINE_ABORTED, own_.rank,
          "Rank " + std::to_string(own_.rank) + " aborted the group" +
              (abort_reason_.empty() ? "." : ": " + abort_reason_)};
}

void Links::abort(std::string reason) {
  const std::scoped_lock lock(abort_mutex_);
  if (abort_reason_.empty()) abort_reason_ = std::move(reason);
  ::eventfd_write(aborted_.get(), 1);
}

// ---- words ----

Outcome<void> Links::hear() {
  std::array<epoll_event, 64> events;
  const int count = ::epoll_wait(watch_.get(), events.data(), events.size(), 0);
  for (int i = 0; i < count; ++i)
    if (auto heard = hear(static_cast<int>(events[static_cast<std::size_t>(i)].data.u32)); !heard)
      return heard;
  return {};
}

Outcome<void> Links::hear(int number) {
  auto& peer = peers_[static_cast<std::size_t>(number)];
  for (;;) {
    std::array<std::byte, sizeof(Word)> some;
    const auto wanted = sizeof(Word) - peer.heard.size();
    const auto count = ::recv(peer.control.get(), some.data(), wanted, 0);
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return {};
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      ::epoll_ctl(watch_.get(), EPOLL_CTL_DEL, peer.control.get(), nullptr);
      peer.control.reset();
      return peer.left ? Outcome<void>() : fail(lost(number));
    }
    peer.heard.insert(peer.heard.end(), some.begin(), some.begin() + count);
    if (peer.heard.size() < sizeof(Word)) continue;
    std::span<const std::byte> bytes(peer.heard);
    const auto word = take<Word>(bytes);
    peer.heard.clear();
    if (auto heard = hear(number, word); !heard) return heard;
  }
}

Outcome<void> Links::hear(int number, const Word& word) {
  auto& peer = peers_[static_cast<std::size_t>(number)];
  const bool is_whole = word.magic == Word().magic && word.length <= word.message.size() &&
                        word.rank >= -1 && word.rank < own_.size;
  if (is_whole && word.kind == Kind::left) {
    peer.left = true;
    return {};
  }
  if (is_whole && word.kind == Kind::asks) {
    say(peer, {.kind = Kind::answers});
    return {};
  }
  if (is_whole && word.kind == Kind::answers) {
    peer.answered = true;
    return {};
  }
  const bool tells = is_whole && word.kind == Kind::broken && word.cause > PACELINE_BAD_ARGUMENT &&
                     word.cause <= PACELINE_SYSTEM;
  if (!tells)
    return fail(PACELINE_LOST, number,
                "Rank " + std::to_string(number) + " says what no member says.");
  return fail(static_cast<paceline_cause>(word.cause), word.rank,
              std::string(word.message.data(), word.length));
}

Outcome<void> Links::hear_for(milliseconds time) {
  Patience patience(time);
  std::array<pollfd, 1> waits{pollfd{watch_.get(), POLLIN, 0}};
  const auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end && patience.wait(waits))
    if (auto heard = hear(); !heard) return heard;
  return {};
}

void Links::say(const Peer& peer, const Word& word) {
  if (peer.control) ::send(peer.control.get(), &word, sizeof word, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void Links::say_to_all(const Word& word) {
  for (const auto& peer : peers_) say(peer, word);
}

// ---- failures ----

// Whoever ends its connections says why first, on the other one.
Failure Links::ended(int peer) {
  const auto& found = peers_[static_cast<std::size_t>(peer)];
  if (!found.left) {
    if (auto heard = hear_for(kWordsFollow); !heard) return std::move(heard.error());
  }
  if (!found.left) return lost(peer);
  return {PACELINE_LEFT, peer,
          "Rank " + std::to_string(peer) + " has left the group, but is needed."};
}

// Members that wait answer; one that doesn't is stopped, or busy with something else.
Failure Links::late(int peer, const Patience& patience, const Head& head) {
  for (auto& each : peers_) each.answered = false;
  say_to_all({.kind = Kind::asks});
  if (auto heard = hear_for(kAnswersWithin); !heard) return std::move(heard.error());
  std::vector<int> silent;
  for (int rank = 0; rank < own_.size; ++rank) {
    const auto& each = peers_[static_cast<std::size_t>(rank)];
    if (each.control && !each.answered && !each.left) silent.push_back(rank);
  }
  if (silent.empty()) silent.push_back(peer);
  return {PACELINE_TIMED_OUT, silent.front(),
          "No sign of " + ranks_text(silent) + " in " + describe(head) + " for " +
              seconds_text(patience.limit()) + "."};
}

Failure Links::break_off(Failure failure) {
  if (failure_) return *failure_;
  failure_ = std::move(failure);
  Word word{.kind = Kind::broken,
            .cause = static_cast<std::uint8_t>(failure_->cause),
            .length = 0,
            .rank = failure_->rank};
  const auto length = std::min(failure_->message.size(), word.message.size());
  failure_->message.copy(word.message.data(), length);
  word.length = static_cast<std::uint16_t>(length);
  say_to_all(word);
  for (auto& peer : peers_) {
    peer.data.reset();
    peer.control.reset();
  }
  return *failure_;
}

}  // namespace paceline::runtime
