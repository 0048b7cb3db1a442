#include "link/bytes_uplink.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <spdlog/spdlog.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <atomic>
#include <list>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "link/bytes_talk.hpp"
#include "link/splice.hpp"

namespace paceline {
namespace {

constexpr std::size_t kTerminalsMax = 64;
constexpr auto kTicketWithin = std::chrono::seconds{5};

bool send_all(ClientStream& stream, std::string_view text, int interrupted) {
  while (!text.empty()) {
    const auto tried = stream.send(text.data(), text.size());
    text.remove_prefix(tried.bytes);
    if (tried.bytes > 0) continue;
    pollfd waits[] = {{stream.descriptor(), tried.awaits, 0}, {interrupted, POLLIN, 0}};
    const int within = static_cast<int>(std::chrono::milliseconds(kTicketWithin).count());
    if (tried.awaits == 0 || ::poll(waits, 2, within) <= 0 || waits[1].revents != 0) return false;
  }
  return true;
}

}  // namespace

struct BytesUplink::Impl {
  // A terminal that is shown, on a thread of its own.
  struct Shown {
    std::thread thread;
    std::atomic<bool> done = false;
  };

  explicit Impl(Options o)
      : options(std::move(o)),
        sender(options.logs),
        ended(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
        backoff(options.backoff, options.seed),
        thread([this] { work(); }) {}
  ~Impl() {
    ::eventfd_write(ended.get(), 1);
    thread.join();
    for (auto& each : shown) each.thread.join();
  }

  void work() {
    std::string said;
    for (bool goes_on = true; goes_on;) {
      auto connection = options.dial([this] { return ended.get(); });
      Error end = connection ? Error{} : std::move(connection.error());
      bool welcomed = false;
      if (connection) {
        BytesTalk talk(
            options, sender, options.ships.get(),
            [this](const auto& asked) { return attach(asked); }, std::move(*connection));
        end = talk.run(ended.get());
        welcomed = talk.welcomed();
      }
      const bool is_news = end.message != std::exchange(said, end.message);
      if (is_news && !end.message.empty())
        spdlog::warn("Logs of this node are not sent now: {}", end.message);
      if (welcomed) backoff.reset();
      goes_on = rest(end.retry == Retry::useless ? backoff.longest() : backoff.next());
    }
  }

  // False: it ends.
  bool rest(std::chrono::milliseconds span) {
    if (options.ships) options.ships->look(std::chrono::steady_clock::now());
    pollfd waits{ended.get(), POLLIN, 0};
    return ::poll(&waits, 1, static_cast<int>(span.count())) == 0;
  }

  std::optional<NoDoor> attach(const DoorAsked& asked) {
    std::erase_if(shown, [](Shown& each) {
      if (each.done) each.thread.join();
      return each.done.load();
    });
    if (shown.size() >= kTerminalsMax)
      return NoDoor{asked.ticket, "too many of that node's workers are looked at"};
    auto socket = options.door(asked.worker, asked.door);
    if (!socket) return NoDoor{asked.ticket, "nobody listens there"};
    auto& mine = shown.emplace_back();
    try {
      mine.thread = std::thread([this, &mine, ticket = asked.ticket, fd = std::move(*socket)] {
        show(ticket, fd.get());
        mine.done = true;
      });
    } catch (const std::system_error&) {
      shown.pop_back();
      return NoDoor{asked.ticket, "the node has no thread left"};
    }
    return std::nullopt;
  }

  void show(const std::string& ticket, int socket) {
    const auto connection = options.dial([this] { return ended.get(); });
    if (!connection) return;
    ClientStream& stream = *connection->stream;
    if (!send_all(stream, encode(TicketShown{ticket}), ended.get())) return;
    splice(stream, socket, ended.get());
  }

  Options options;
  LogSender sender;
  UniqueFd ended;
  Backoff backoff;
  std::list<Shown> shown;
  std::thread thread;
};

BytesUplink::BytesUplink(Options options) : impl_(std::make_unique<Impl>(std::move(options))) {}
BytesUplink::~BytesUplink() = default;

}  // namespace paceline
