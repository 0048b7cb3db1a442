#include "cli/fake_server.hpp"
#include "cli/words/directory_testing.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <list>
#include <mutex>
#include <thread>

#include "cli/client/locate.hpp"
#include "cli/run_cli.hpp"
#include "files/fd.hpp"
#include "http/unix_dialer.hpp"

namespace paceline {
namespace {

namespace net = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using Socket = net::local::stream_protocol::socket;
using beast::error_code;

FakeRequest to_request(const http::request<http::string_body>& message) {
  return {std::string(message.method_string()), std::string(message.target()), message.body(),
          std::string(message["Idempotency-Key"])};
}

void write_text(Socket& socket, const std::string& text) {
  error_code ec;
  net::write(socket, net::buffer(text), ec);
}

void echo(Socket& socket) {
  std::array<char, 1024> bytes{};
  for (;;) {
    error_code ec;
    const auto size = socket.read_some(net::buffer(bytes), ec);
    if (ec) return;
    const std::string text(bytes.data(), size);
    write_text(socket, text.substr(0, text.find('\x04')));
    if (text.find('\x04') != std::string::npos) return;
  }
}

// A chunked stream without its end.
void write_stream(Socket& socket, const std::string& text) {
  write_text(socket,
             "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
             "Transfer-Encoding: chunked\r\n\r\n");
  if (!text.empty()) write_text(socket, fmt::format("{:x}\r\n{}\r\n", text.size(), text));
}

// True if the connection goes on.
bool write_answer(Socket& socket, const FakeAnswer& answer) {
  switch (answer.kind) {
    case FakeAnswer::Kind::hang_up:
      return false;
    case FakeAnswer::Kind::events:
      write_stream(socket, answer.text);
      return false;
    case FakeAnswer::Kind::quiet:
      write_stream(socket, answer.text);
      echo(socket);
      return false;
    case FakeAnswer::Kind::tunnel:
      write_text(socket,
                 "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n"
                 "Upgrade: paceline-pty\r\n\r\n" +
                     answer.text);
      echo(socket);
      return false;
    case FakeAnswer::Kind::body:
      break;
  }
  write_text(socket, fmt::format("HTTP/1.1 {} X\r\nContent-Type: application/json\r\n"
                                 "Content-Length: {}\r\n\r\n{}",
                                 answer.status, answer.text.size(), answer.text));
  return true;
}

std::string text_of_file(int fd) {
  std::string text(static_cast<std::size_t>(::lseek(fd, 0, SEEK_END)), '\0');
  EXPECT_EQ(::pread(fd, text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
  return text;
}

// What tests expect of times is in UTC.
const int utc = [] {
  ::setenv("TZ", "UTC", 1);
  ::tzset();
  return 0;
}();

}  // namespace

struct FakeServer::State {
  explicit State(Handler its_handler)
      : handler(std::move(its_handler)), acceptor(io, {socket_path()}) {}

  std::string socket_path() const { return directory.path() + "/" + std::string(kSocketName); }

  void accept_all() {
    for (;;) {
      error_code ec;
      Socket socket(io);
      acceptor.accept(socket, ec);
      if (ec || stopping) return;
      const std::scoped_lock lock(mutex);
      sockets.push_back(std::move(socket));
      workers.emplace_back([this, &peer = sockets.back()] { serve(peer); });
    }
  }

  void serve(Socket& socket) {
    beast::flat_buffer buffer;
    for (bool goes_on = true; goes_on;) {
      http::request<http::string_body> message;
      error_code ec;
      http::read(socket, buffer, message, ec);
      if (ec) break;
      goes_on = write_answer(socket, answer(to_request(message)));
    }
    error_code ec;
    socket.shutdown(Socket::shutdown_both, ec);
  }

  FakeAnswer answer(const FakeRequest& request) {
    const std::scoped_lock lock(mutex);
    requests.push_back(request);
    return handler(request);
  }

  TestDirectory directory;
  Handler handler;
  net::io_context io;
  net::local::stream_protocol::acceptor acceptor;
  mutable std::mutex mutex;
  std::vector<FakeRequest> requests;
  std::list<Socket> sockets;
  std::list<std::thread> workers;
  std::atomic<bool> stopping = false;
  std::thread accepting;
};

FakeServer::FakeServer(Handler handler) : state_(std::make_unique<State>(std::move(handler))) {
  state_->accepting = std::thread([state = state_.get()] { state->accept_all(); });
}

FakeServer::~FakeServer() {
  state_->stopping = true;
  (void)UnixDialer(state_->socket_path()).dial();  // wakes accept()
  state_->accepting.join();
  for (auto& socket : state_->sockets) {
    error_code ec;
    socket.shutdown(Socket::shutdown_both, ec);
  }
  for (auto& worker : state_->workers) worker.join();
}

std::string FakeServer::directory() const { return state_->directory.path(); }

std::vector<FakeRequest> FakeServer::requests() const {
  const std::scoped_lock lock(state_->mutex);
  return state_->requests;
}

std::vector<std::string> FakeServer::log() const {
  std::vector<std::string> lines;
  for (const auto& request : requests()) lines.push_back(request.method + " " + request.target);
  return lines;
}

int FakeServer::connections() const {
  const std::scoped_lock lock(state_->mutex);
  return static_cast<int>(state_->sockets.size());
}

FakeAnswer fake_error(unsigned status, const std::string& code, const std::string& message) {
  return {
      fmt::format(R"({{"error":{{"code":"{}","message":"{}","hint":"Do this."}}}})", code, message),
      status, FakeAnswer::Kind::body};
}

CliResult run_words(const std::vector<std::string>& words, Environment environment,
                    const std::string& input) {
  const UniqueFd in(::memfd_create("in", MFD_CLOEXEC));
  EXPECT_EQ(::pwrite(in.get(), input.data(), input.size(), 0), static_cast<ssize_t>(input.size()));
  const UniqueFd out(::memfd_create("out", MFD_CLOEXEC)), err(::memfd_create("err", MFD_CLOEXEC));
  Console::Setup setup;
  setup.input_fd = in.get();
  setup.output_fd = out.get();
  setup.error_fd = err.get();
  Console console(setup);
  Hooks hooks;
  hooks.version = "1.2.3";
  environment.emplace("PATH", "/usr/bin:/bin");
  Context context(console, std::move(environment), hooks);
  const int code = run_cli(context, words);
  return {code, text_of_file(out.get()), text_of_file(err.get())};
}

CliResult run_words(const FakeServer& server, const std::vector<std::string>& words,
                    const std::string& input) {
  return run_words(words, {{"PACELINE_DIR", server.directory()}}, input);
}

}  // namespace paceline
