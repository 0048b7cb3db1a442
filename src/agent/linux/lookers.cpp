#include "agent/linux/lookers.hpp"

#include <sys/socket.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <deque>
#include <map>
#include <utility>
#include <vector>

namespace paceline::agent {
namespace {

namespace asio = boost::asio;

constexpr auto kLookerIdleMax = std::chrono::seconds{30};

// The process at the other end has closed it, perhaps without having read what it was asked.
bool is_closed(int socket) {
  char byte = 0;
  const ssize_t n = ::recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
}

// The looker of one user, and the looks that wait for it.
class Looker : public std::enable_shared_from_this<Looker> {
 public:
  Looker(asio::io_context& io, const Lookers::Raise& raise, std::chrono::milliseconds patience)
      : io_(io), socket_(io), timer_(io), raise_(raise), patience_(patience) {}

  void add(LookRequest request, Lookers::Done done) {
    waiting_.emplace_back(std::move(request), std::move(done));
    if (waiting_.size() == 1) begin();
  }
  void close() {
    closed_ = true;
    boost::system::error_code ignored;
    socket_.close(ignored);
    timer_.cancel();
  }

 private:
  void begin();
  [[nodiscard]] bool ask();
  [[nodiscard]] bool start();
  void wait();
  void receive();
  void give_up();
  void answer(std::optional<CheckpointSearch> found);
  void rest();

  asio::io_context& io_;
  asio::posix::stream_descriptor socket_;
  asio::steady_timer timer_;
  const Lookers::Raise& raise_;
  std::chrono::milliseconds patience_;
  std::deque<std::pair<LookRequest, Lookers::Done>> waiting_;  // the first is under way
  std::chrono::steady_clock::time_point began_;                // of it
  std::vector<UniqueFd> hanging_;
  std::uint64_t turn_ = 0;
  bool closed_ = false;
};

void Looker::begin() {
  asio::post(io_, [self = shared_from_this()] {
    if (self->closed_) return;
    self->began_ = std::chrono::steady_clock::now();
    if (self->ask())
      self->wait();
    else
      self->answer(std::nullopt);
  });
}

bool Looker::start() {
  std::erase_if(hanging_, [](const UniqueFd& socket) { return is_closed(socket.get()); });
  if (hanging_.size() >= Lookers::kHangingMax) return false;
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return false;
  UniqueFd ours(ends[0]);
  if (!raise_(UniqueFd(ends[1]))) return false;
  boost::system::error_code error;
  socket_.assign(ours.release(), error);
  return !error;
}

bool Looker::ask() {
  const std::string text = to_text(waiting_.front().first);
  const auto send = [&] {
    return text.size() <= kLookMessageMax && ::send(socket_.native_handle(), text.data(),
                                                    text.size(), MSG_DONTWAIT | MSG_NOSIGNAL) > 0;
  };
  if (socket_.is_open() && send()) return true;
  boost::system::error_code ignored;
  socket_.close(ignored);
  return start() && send();
}

// Either handler may be on its way already when the other one runs.
void Looker::wait() {
  const std::uint64_t turn = ++turn_;
  timer_.expires_after(patience_);
  timer_.async_wait([self = shared_from_this(), turn](const boost::system::error_code& error) {
    if (!error && !self->closed_ && self->turn_ == turn) self->give_up();
  });
  socket_.async_wait(asio::posix::stream_descriptor::wait_read,
                     [self = shared_from_this(), turn](const boost::system::error_code& error) {
                       if (!error && !self->closed_ && self->turn_ == turn) self->receive();
                     });
}

void Looker::receive() {
  std::string text(kLookMessageMax, '\0');
  const ssize_t n = ::recv(socket_.native_handle(), text.data(), text.size(), MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return wait();
  if (n > 0)
    return answer(
        parse_checkpoint_search(std::string_view(text).substr(0, static_cast<std::size_t>(n))));
  boost::system::error_code ignored;
  socket_.close(ignored);
  answer(std::nullopt);
}

// It ends by itself as soon as the file system lets it.
void Looker::give_up() {
  hanging_.emplace_back(socket_.release());
  answer(std::nullopt);
}

void Looker::answer(std::optional<CheckpointSearch> found) {
  ++turn_;
  const auto due = static_cast<int>(waiting_.size());
  const auto took = due * (std::chrono::steady_clock::now() - began_);
  const Lookers::Done done = std::move(waiting_.front().second);
  waiting_.pop_front();
  if (waiting_.empty())
    rest();
  else
    begin();
  done(std::move(found), std::chrono::duration_cast<Duration>(took));
}

void Looker::rest() {
  timer_.expires_after(kLookerIdleMax);
  timer_.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
    boost::system::error_code ignored;
    if (!error && self->waiting_.empty()) self->socket_.close(ignored);  // which ends the process
  });
}

}  // namespace

struct Lookers::State {
  asio::io_context& io;
  Raise raise;
  std::chrono::milliseconds patience;
  std::map<std::uint32_t, std::shared_ptr<Looker>> users;
};

Lookers::Lookers(asio::io_context& io, Raise raise, std::chrono::milliseconds patience)
    : state_(std::make_shared<State>(State{io, std::move(raise), patience, {}})) {}

Lookers::~Lookers() {
  for (const auto& [uid, looker] : state_->users) looker->close();
}

void Lookers::look(LookRequest request, Done done) {
  auto& looker = state_->users[request.uid];
  if (!looker) looker = std::make_shared<Looker>(state_->io, state_->raise, state_->patience);
  looker->add(std::move(request), std::move(done));
}

}  // namespace paceline::agent
