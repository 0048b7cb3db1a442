#include "agent/linux/stacks_door.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <string_view>
#include <utility>

#include "agent/linux/claim.hpp"
#include "agent/linux/files.hpp"
#include "http/unix_socket.hpp"
#include "loop/timer.hpp"

namespace paceline::agent {
namespace {

namespace asio = boost::asio;
using Socket = asio::local::stream_protocol;
using SocketError = boost::system::error_code;

constexpr std::size_t kWorkerNameMax = 64;
constexpr auto kAcceptPause = std::chrono::milliseconds{100};  // where the machine lacks something
constexpr auto kClientPatience = std::chrono::seconds{30};  // with all that a client asks and takes

struct Client : std::enable_shared_from_this<Client> {
  Client(asio::io_context& io, Socket::socket connected)
      : socket(std::move(connected)), patience(io) {}

  void begin(std::shared_ptr<const StacksDoor::Collect> collect) {
    patience.after(kClientPatience, [this] { close(); });
    asio::async_read_until(
        socket, asio::dynamic_buffer(name, kWorkerNameMax), '\n',
        [self = shared_from_this(), collect = std::move(collect)](SocketError error,
                                                                  std::size_t size) {
          if (error) return self->close();
          const auto worker = parse_claim_name(std::string_view(self->name).substr(0, size - 1));
          const auto told = [self](std::string stacks) { self->tell(std::move(stacks)); };
          if (!worker || !(*collect)(*worker, told)) self->tell("No such worker runs here.\n");
        });
  }
  void tell(std::string told) {
    text = std::move(told);
    asio::async_write(socket, asio::buffer(text),
                      [self = shared_from_this()](SocketError, std::size_t) { self->close(); });
  }
  void close() {
    SocketError ignored;
    socket.close(ignored);
    patience.cancel();
  }

  Socket::socket socket;
  Timer patience;
  std::string name, text;
};

}  // namespace

struct StacksDoor::Impl : std::enable_shared_from_this<Impl> {
  Impl(asio::io_context& context, Collect of)
      : io(context),
        acceptor(context),
        collect(std::make_shared<const Collect>(std::move(of))),
        again(context) {}

  void accept() {
    acceptor.async_accept([self = shared_from_this()](SocketError error, Socket::socket connected) {
      if (error == asio::error::operation_aborted) return;
      if (error) return self->again.after(kAcceptPause, [impl = self.get()] { impl->accept(); });
      std::erase_if(self->clients, [](const auto& each) { return each.expired(); });
      if (self->clients.size() < kClientsMax) {
        const auto client = std::make_shared<Client>(self->io, std::move(connected));
        self->clients.push_back(client);
        client->begin(self->collect);
      }
      self->accept();
    });
  }

  asio::io_context& io;
  Socket::acceptor acceptor;
  std::shared_ptr<const Collect> collect;
  std::vector<std::weak_ptr<Client>> clients;
  Timer again;
};

Result<std::unique_ptr<StacksDoor>> StacksDoor::open(asio::io_context& io, const std::string& path,
                                                     Collect collect) {
  auto listening = listen_unix(path, SocketAccess::owner);
  if (!listening) return fail(listening.error());
  auto impl = std::make_shared<Impl>(io, std::move(collect));
  SocketError error;
  impl->acceptor.assign(Socket(), listening->get(), error);
  if (error) return fail(system_error("Nothing can listen at '" + path + "'", error.value()));
  static_cast<void>(listening->release());
  impl->accept();
  return std::unique_ptr<StacksDoor>(new StacksDoor(std::move(impl)));
}

StacksDoor::~StacksDoor() {
  SocketError ignored;
  impl_->acceptor.close(ignored);
  for (const auto& each : impl_->clients)
    if (const auto client = each.lock()) client->close();
}

}  // namespace paceline::agent
