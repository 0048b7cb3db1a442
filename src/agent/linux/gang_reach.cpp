#include "agent/linux/gang_reach.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/read_until.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "files/random_name.hpp"
#include "http/tcp_socket.hpp"
#include "loop/timer.hpp"
#include "model/gang_ports.hpp"

namespace paceline::agent {
namespace {

namespace asio = boost::asio;
using Tcp = asio::ip::tcp;
using TcpError = boost::system::error_code;

constexpr std::size_t kLineMax = 256;
// So many at once, then others of the loop have their turn.
constexpr int kVisitorsAtOnce = 256;
constexpr auto kDoorPause = std::chrono::milliseconds{100};
constexpr int kDoorBacklog = 4096;  // all nodes of a large gang come to rank 0's at the same time
constexpr Generation kBlockOfDoors{1};  // where all nodes of a kind look first

Result<UniqueFd> listen_at(const std::string& address, std::uint32_t port) {
  const auto at = [&](const std::string& host) {
    return listen_tcp({host, static_cast<std::uint16_t>(port)});
  };
  auto listening = at(address);
  if (listening || listening.error().code != ErrorCode::invalid) return listening;
  return at(address.find(':') == std::string::npos ? "0.0.0.0" : "::");
}

}  // namespace

std::string reach_line(const std::string& nonce) { return "paceline node " + nonce + "\n"; }

// ---- the door ----

struct ReachDoor::Impl : std::enable_shared_from_this<Impl> {
  Impl(asio::io_context& io, std::string says) : acceptor(io), again(io), line(std::move(says)) {}

  void accept() {
    acceptor.async_accept([self = shared_from_this()](TcpError error, Tcp::socket visitor) {
      if (error == asio::error::operation_aborted) return;
      if (!error) self->answer(visitor);
      if (!error && ++self->visitors % kVisitorsAtOnce != 0) return self->accept();
      self->again.after(kDoorPause, [impl = self.get()] { impl->accept(); });
    });
  }
  // A line fits into what a socket holds that nothing was sent by yet.
  void answer(Tcp::socket& visitor) const {
    TcpError ignored;
    visitor.non_blocking(true, ignored);
    visitor.write_some(asio::buffer(line), ignored);
    visitor.close(ignored);
  }

  Tcp::acceptor acceptor;
  Timer again;
  std::string line;
  std::uint64_t visitors = 0;
};

ReachDoor::ReachDoor(asio::io_context& io) : io_(io), nonce_(random_name()) {}
ReachDoor::~ReachDoor() { close(); }

void ReachDoor::close() {
  TcpError ignored;
  if (impl_) impl_->acceptor.close(ignored);
  if (impl_) impl_->again.cancel();
  impl_.reset();
  held_ = {};
  port_ = 0;
}

Result<void> ReachDoor::open(const std::string& address, const PortBlocks& blocks) {
  if (port_ != 0 && address == address_) return {};
  close();
  const auto first = gang_port(usable_ports(), JobId{0}, kBlockOfDoors, 1, ::geteuid());
  auto ports = blocks.take_from(first.value_or(0), 1);
  if (!ports) return fail(std::move(ports.error()));
  auto listening = listen_at(address, ports->first);
  if (!listening) return fail(std::move(listening.error()));
  auto impl = std::make_shared<Impl>(io_, reach_line(nonce_));
  ::listen(listening->get(), kDoorBacklog);
  const auto family = family_of(listening->get()) == AF_INET6 ? Tcp::v6() : Tcp::v4();
  TcpError error;
  impl->acceptor.assign(family, listening->get(), error);
  if (error)
    return fail(ErrorCode::storage,
                fmt::format("Nobody can be let in at port {}: {}.", ports->first, error.message()));
  static_cast<void>(listening->release());
  impl->accept();
  impl_ = std::move(impl);
  address_ = address;
  port_ = ports->first;
  held_ = std::move(*ports);
  return {};
}

// ---- the tries ----

// Goes to one peer until somebody says there who it is.
class ReachCheck::Try : public std::enable_shared_from_this<Try> {
 public:
  using Done = std::function<void(const Try&)>;

  Try(asio::io_context& io, GangPeer peer, const ReachTimes& times, Done done)
      : socket_(io),
        resolver_(io),
        again_(io),
        peer_(std::move(peer)),
        times_(times),
        done_(std::move(done)) {}

  void begin() {
    TcpError no_number;
    const auto address = asio::ip::make_address(peer_.address, no_number);
    const auto service = std::to_string(peer_.port);
    if (!no_number)
      return connect(Found::create(Tcp::endpoint(address, static_cast<std::uint16_t>(peer_.port)),
                                   peer_.address, service));
    resolver_.async_resolve(peer_.address, service, Tcp::resolver::numeric_service,
                            [self = shared_from_this()](TcpError error, const Found& found) {
                              error ? self->try_again(error) : self->connect(found);
                            });
  }
  // Nothing is done any more.
  void end() {
    TcpError ignored;
    done_ = nullptr;
    again_.cancel();
    resolver_.cancel();
    socket_.close(ignored);
  }

  [[nodiscard]] bool is_reached() const { return is_reached_; }
  [[nodiscard]] const GangPeer& peer() const { return peer_; }
  // So far.
  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  using Found = Tcp::resolver::results_type;

  void connect(const Found& to) {
    if (!done_) return;
    asio::async_connect(socket_, to,
                        [self = shared_from_this()](TcpError error, const Tcp::endpoint&) {
                          error ? self->try_again(error) : self->hear();
                        });
  }
  // A machine with too many visitors forgets some, who think that they are connected.
  void hear() {
    if (!done_) return;
    line_.clear();
    again_.after(times_.silence, [this] {
      TcpError ignored;
      socket_.close(ignored);
      try_again(asio::error::eof);
    });
    asio::async_read_until(socket_, asio::dynamic_buffer(line_, kLineMax), '\n',
                           [self = shared_from_this()](TcpError error, std::size_t) {
                             if (error == asio::error::operation_aborted) return;
                             self->again_.cancel();
                             const bool is_long = error == asio::error::not_found;
                             error && !is_long ? self->try_again(error) : self->judge();
                           });
  }
  void judge() {
    if (!done_) return;
    is_reached_ = line_ == reach_line(peer_.nonce);
    if (!is_reached_) problem_ = "another program or machine answers there";
    std::exchange(done_, nullptr)(*this);
  }
  void try_again(TcpError error) {
    if (!done_) return;
    problem_ = error == asio::error::eof ? "nobody says there who it is" : error.message();
    again_.after(times_.pause, [this] { begin(); });
  }

  Tcp::socket socket_;
  Tcp::resolver resolver_;
  Timer again_;
  GangPeer peer_;
  ReachTimes times_;
  Done done_;
  std::string line_;
  std::string problem_ = "no answer";
  bool is_reached_ = false;
};

// All peers of one gang, for all of its workers here.
struct ReachCheck::Round {
  Round(asio::io_context& io, GangKey of, const std::vector<GangPeer>& to)
      : limit(io), gang(std::move(of)), peers(to) {}

  void begin(asio::io_context& io, const std::string& from, const ReachTimes& times) {
    node = from;
    for (const GangPeer& peer : peers)
      tries.push_back(
          std::make_shared<Try>(io, peer, times, [this](const Try& each) { look(each); }));
    limit.after(times.limit,
                [this] { finish(sentence(**std::ranges::find_if_not(tries, &Try::is_reached))); });
    for (const auto& each : tries) each->begin();
  }
  void look(const Try& done) {
    if (!done.is_reached()) return finish(sentence(done));
    const auto reached = [](const auto& each) { return each->is_reached(); };
    if (std::ranges::all_of(tries, reached)) finish({});
  }
  void finish(std::string outcome) {
    problem = std::move(outcome);
    over_at = Timer::Clock::now();
    end();
    tell();
  }
  void tell() {
    for (const Told& told : std::exchange(waiting, {})) told(*problem);
  }
  void end() {
    limit.cancel();
    for (const auto& each : std::exchange(tries, {})) each->end();
  }
  [[nodiscard]] std::string sentence(const Try& failed) const {
    const auto& [name, address, port, nonce] = failed.peer();
    const PortRange ports = usable_ports();
    return fmt::format(
        "{} can't reach {} at {}, port {}: {}. Let the ports {} to {} through between the two, or "
        "give {} another address with --advertise.",
        node, name, address, port, failed.problem(), ports.first, ports.end - 1, name);
  }

  Timer limit;
  GangKey gang;
  std::vector<GangPeer> peers;
  std::string node;
  std::vector<std::shared_ptr<Try>> tries;
  std::vector<Told> waiting;
  std::optional<std::string> problem;  // once it is over
  Timer::Clock::time_point over_at;
};

ReachCheck::ReachCheck(asio::io_context& io, std::string node, ReachTimes times)
    : io_(io), node_(std::move(node)), times_(times) {}

ReachCheck::~ReachCheck() {
  for (const auto& round : rounds_) {
    round->waiting.clear();
    round->end();
  }
}

void ReachCheck::ask(const GangKey& gang, const std::vector<GangPeer>& peers, Told told) {
  forget_old();
  const auto known = std::ranges::find_if(
      rounds_, [&](const auto& round) { return round->gang == gang && round->peers == peers; });
  const bool is_new = known == rounds_.end();
  const auto round = is_new ? std::make_shared<Round>(io_, gang, peers) : *known;
  round->waiting.push_back(std::move(told));
  if (round->problem) asio::post(io_, [round] { round->tell(); });
  if (!is_new) return;
  rounds_.push_back(round);
  round->begin(io_, node_, times_);
}

void ReachCheck::forget_old() {
  const auto now = Timer::Clock::now();
  std::erase_if(rounds_, [&](const auto& round) {
    return round->problem && round->waiting.empty() && now - round->over_at >= times_.kept;
  });
}

}  // namespace paceline::agent
