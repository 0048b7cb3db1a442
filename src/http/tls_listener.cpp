#include "http/tls_listener.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>
#include <deque>
#include <list>
#include <map>
#include <string>
#include <utility>

#include "http/tcp_socket.hpp"
#include "http/tls_context.hpp"
#include "http/tls_stream.hpp"
#include "trust/openssl_library.hpp"
#include "trust/pem.hpp"

namespace asio = boost::asio;

namespace paceline {
namespace {

constexpr std::chrono::milliseconds kRetryPause{50};
constexpr int kTlsBacklog = 1024;

// Only clients that show a certificate are looked up.
int verify_node(X509_STORE_CTX* shown, void* authority) {
  const auto verdict = judge(*X509_STORE_CTX_get0_cert(shown), *static_cast<X509*>(authority),
                             Holder::node, tls_wall_clock());
  X509_STORE_CTX_set_error(shown, tls_code_of(verdict.flaw));
  return verdict.flaw == Flaw::none ? 1 : 0;
}

// Whose handshakes are counted together.
std::string neighbourhood_of(const std::string& address) {
  std::array<unsigned char, 16> bytes{};
  if (::inet_pton(AF_INET6, address.c_str(), bytes.data()) != 1) return address;
  return {reinterpret_cast<const char*>(bytes.data()), 8};
}

// The next may well be accepted.
bool concerns_one_connection(int reason) {
  return reason == EINTR || reason == EAGAIN || reason == ECONNABORTED || reason == EPROTO;
}

// The connections between accept4() and a finished handshake, the oldest first.
class Handshakes : public std::enable_shared_from_this<Handshakes> {
 public:
  using Failure = ServerStream::Failure;

  Handshakes(asio::io_context& io, UniqueFd listening,
             std::shared_ptr<TlsCertificates> certificates, TlsListenerOptions options)
      : io_(io),
        listening_(io),
        given_(std::move(listening)),
        certificates_(std::move(certificates)),
        options_(options),
        wake_(io),
        retry_(io) {}

  Result<void> open();
  [[nodiscard]] bool is_open() const { return listening_.is_open(); }
  ServerStream::Awaitable<std::shared_ptr<ServerStream>> next(Failure& failure);
  void close();

 private:
  struct Entry {
    std::string neighbourhood;
    std::shared_ptr<TlsStream> stream;
    asio::steady_timer deadline;
    std::list<std::shared_ptr<Entry>>::iterator place = {};
    bool over = false;
  };

  static asio::awaitable<void> accept_all(std::shared_ptr<Handshakes> self);
  static asio::awaitable<void> run(std::shared_ptr<Handshakes> self, std::shared_ptr<Entry> entry);
  asio::awaitable<void> pause(Failure failure);
  void welcome(UniqueFd connected);
  void make_room(const std::string& neighbourhood);
  bool end_oldest();
  void end(Entry& entry);
  void forget(Entry& entry);
  void wake() { wake_.cancel(); }

  asio::io_context& io_;
  asio::posix::stream_descriptor listening_;
  UniqueFd given_;
  std::shared_ptr<TlsCertificates> certificates_;
  TlsListenerOptions options_;
  asio::steady_timer wake_;
  asio::steady_timer retry_;
  std::list<std::shared_ptr<Entry>> entries_;
  std::map<std::string, std::size_t> per_neighbourhood_;
  std::deque<std::shared_ptr<Entry>> done_;
  Failure failure_;  // to be told
};

Result<void> Handshakes::open() {
  Failure failure;
  (void)::listen(given_.get(), kTlsBacklog);  // longer, for those who come while others flood it
  listening_.assign(given_.get(), failure);
  if (failure) {
    return fail(ErrorCode::unavailable,
                fmt::format("A socket can't be watched: {}.", failure.message()), {},
                Retry::may_help);
  }
  static_cast<void>(given_.release());
  asio::co_spawn(io_, accept_all(shared_from_this()), asio::detached);
  return {};
}

asio::awaitable<void> Handshakes::accept_all(std::shared_ptr<Handshakes> self) {
  while (self->is_open()) {
    Failure failure;
    co_await self->listening_.async_wait(asio::posix::stream_descriptor::wait_read,
                                         asio::redirect_error(asio::use_awaitable, failure));
    if (failure || !self->is_open()) break;
    UniqueFd connected(::accept4(self->listening_.native_handle(), nullptr, nullptr,
                                 SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (connected) {
      self->welcome(std::move(connected));
      continue;
    }
    if (concerns_one_connection(errno)) continue;
    const bool room = errno == EMFILE && self->end_oldest();
    if (!room) co_await self->pause({errno, boost::system::system_category()});
  }
}

// Nothing can be accepted for now, for the machine lacks something.
asio::awaitable<void> Handshakes::pause(Failure failure) {
  failure_ = failure;
  wake();
  retry_.expires_after(kRetryPause);
  Failure ignored;
  co_await retry_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
}

void Handshakes::welcome(UniqueFd connected) {
  const auto peer = tcp_peer_of(connected.get());
  if (peer.host.empty()) return;  // it is gone already
  send_without_delay(connected.get());
  Failure failure;
  TlsStream::Socket socket(io_);
  socket.assign(asio::generic::stream_protocol(family_of(connected.get()), IPPROTO_TCP),
                connected.get(), failure);
  if (failure) return;
  static_cast<void>(connected.release());
  auto neighbourhood = neighbourhood_of(peer.host);
  make_room(neighbourhood);
  ++per_neighbourhood_[neighbourhood];
  const auto entry = std::make_shared<Entry>(
      Entry{std::move(neighbourhood), std::make_shared<TlsStream>(std::move(socket), peer.host),
            asio::steady_timer(io_, options_.handshake_ms)});
  entry->place = entries_.insert(entries_.end(), entry);
  entry->deadline.async_wait([self = shared_from_this(), entry](const Failure& cancelled) {
    if (!cancelled) self->end(*entry);
  });
  asio::co_spawn(io_, run(shared_from_this(), entry), asio::detached);
}

asio::awaitable<void> Handshakes::run(std::shared_ptr<Handshakes> self,
                                      std::shared_ptr<Entry> entry) {
  const bool spoken = co_await entry->stream->wait_for_word();
  if (!spoken) co_return self->end(*entry);
  const TlsContext context = self->certificates_->context();
  const bool good = co_await entry->stream->shake_hands(*context);
  if (entry->over) co_return;
  if (good) {
    self->done_.push_back(entry);
    co_return self->wake();
  }
  if (self->options_.refused)
    self->options_.refused(entry->stream->peer().origin, entry->stream->trouble());
  co_await entry->stream->linger();
  self->end(*entry);
}

ServerStream::Awaitable<std::shared_ptr<ServerStream>> Handshakes::next(Failure& failure) {
  failure = {};
  while (is_open()) {
    while (!done_.empty()) {
      const auto entry = std::move(done_.front());
      done_.pop_front();
      if (entry->over) continue;
      forget(*entry);
      co_return entry->stream;
    }
    failure = std::exchange(failure_, {});
    if (failure) co_return nullptr;
    wake_.expires_at(asio::steady_timer::time_point::max());
    Failure woken;
    co_await wake_.async_wait(asio::redirect_error(asio::use_awaitable, woken));
  }
  failure = asio::error::operation_aborted;
  co_return nullptr;
}

void Handshakes::make_room(const std::string& neighbourhood) {
  const auto near = per_neighbourhood_.find(neighbourhood);
  if (near != per_neighbourhood_.end() && near->second >= options_.handshakes_per_address_max) {
    const auto oldest = std::ranges::find(entries_, neighbourhood,
                                          [](const auto& entry) { return entry->neighbourhood; });
    end(**oldest);
  }
  if (entries_.size() >= options_.handshakes_max) end_oldest();
}

bool Handshakes::end_oldest() {
  if (entries_.empty()) return false;
  const auto oldest = entries_.front();
  end(*oldest);
  return true;
}

void Handshakes::end(Entry& entry) {
  if (entry.over) return;
  const auto stream = entry.stream;
  forget(entry);
  stream->close();
}

void Handshakes::forget(Entry& entry) {
  entry.over = true;
  entry.deadline.cancel();
  const auto near = per_neighbourhood_.find(entry.neighbourhood);
  if (--near->second == 0) per_neighbourhood_.erase(near);
  entries_.erase(entry.place);
}

void Handshakes::close() {
  Failure ignored;
  listening_.close(ignored);
  retry_.cancel();
  while (end_oldest()) {
  }
  wake();
}

class TlsListener final : public Listener {
 public:
  explicit TlsListener(std::shared_ptr<Handshakes> handshakes)
      : handshakes_(std::move(handshakes)) {}
  ~TlsListener() override { handshakes_->close(); }

  Result<void> open() override { return handshakes_->open(); }
  [[nodiscard]] bool is_open() const override { return handshakes_->is_open(); }
  ServerStream::Awaitable<std::shared_ptr<ServerStream>> accept(
      ServerStream::Failure& failure) override {
    return handshakes_->next(failure);
  }
  void close() override { handshakes_->close(); }

 private:
  std::shared_ptr<Handshakes> handshakes_;
};

}  // namespace

Result<std::shared_ptr<TlsCertificates>> TlsCertificates::make(const Credentials& own,
                                                               std::string_view authority) {
  std::shared_ptr<X509> known = read_certificate(authority);
  if (!known) {
    return fail(ErrorCode::invalid, "The certificate of the authority can't be read.",
                "Hand it in as PEM.");
  }
  std::shared_ptr<TlsCertificates> made(new TlsCertificates(std::move(known)));
  if (auto shown = made->renew(own); !shown) return fail(std::move(shown.error()));
  return made;
}

Result<void> TlsCertificates::renew(const Credentials& own) {
  auto context = make_server_context(own);
  if (!context) return fail(std::move(context.error()));
  SSL_CTX_set_verify(context->get(), SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_cert_verify_callback(context->get(), &verify_node, authority_.get());
  context_ = std::move(*context);
  return {};
}

std::unique_ptr<Listener> listen_tls(asio::io_context& io, UniqueFd listening,
                                     std::shared_ptr<TlsCertificates> certificates,
                                     TlsListenerOptions options) {
  return std::make_unique<TlsListener>(
      std::make_shared<Handshakes>(io, std::move(listening), std::move(certificates), options));
}

}  // namespace paceline
