// For tests: a server on a thread of its own, and a client that blocks, with a time limit.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "files/fd.hpp"
#include "files/temp_folder_testing.hpp"
#include "http/router.hpp"
#include "http/unix_dialer.hpp"
#include "http/unix_socket.hpp"

namespace paceline {

struct Reply {
  int status = 0;
  std::string head;
  std::string body;
};

// Every read fails the test after ten seconds without news.
class Client {
 public:
  explicit Client(const std::filesystem::path& socket)
      : Client(UnixDialer(socket.string()).dial().value_or(nullptr)) {}
  explicit Client(std::unique_ptr<ClientStream> stream) : stream_(std::move(stream)) {}

  void close() { stream_.reset(); }
  void finish_sending() const { ::shutdown(stream_->descriptor(), SHUT_WR); }
  // As if the machine had fallen silent: the other end is told by the kernel alone.
  void cut() const { ::shutdown(stream_->descriptor(), SHUT_RDWR); }

  // False if the server closed.
  bool send(std::string_view text) {
    while (!text.empty()) {
      const auto tried = stream_->send(text.data(), text.size());
      text.remove_prefix(tried.bytes);
      if (tried.bytes == 0 && (tried.awaits == 0 || !ready(tried.awaits))) return false;
    }
    return true;
  }

  Reply get(std::string_view target) {
    send(fmt::format("GET {} HTTP/1.1\r\nHost: x\r\n\r\n", target));
    return reply();
  }
  Reply call(std::string_view method, std::string_view target, std::string_view body,
             std::string_view headers = {}) {
    send(fmt::format("{} {} HTTP/1.1\r\nHost: x\r\n{}Content-Length: {}\r\n\r\n{}", method, target,
                     headers, body.size(), body));
    return reply();
  }

  Reply reply() {
    Reply reply;
    reply.head = until("\r\n\r\n");
    std::from_chars(reply.head.data() + std::min<std::size_t>(9, reply.head.size()),
                    reply.head.data() + reply.head.size(), reply.status);
    const auto length = reply.head.find("Content-Length: ");
    std::size_t size = 0;
    if (length != std::string::npos) {
      std::from_chars(reply.head.data() + length + 16, reply.head.data() + reply.head.size(), size);
    }
    reply.body = take(size);
    return reply;
  }

  // So many bytes; fewer if the server closed before.
  std::string take(std::size_t count) {
    while (kept_.size() < count && more()) {
    }
    auto taken = kept_.substr(0, count);
    kept_.erase(0, count);
    return taken;
  }

  // Everything up to and with `mark`; what there was if the server closed before.
  std::string until(std::string_view mark) {
    for (;;) {
      const auto found = kept_.find(mark);
      if (found != std::string::npos) return take(found + mark.size());
      if (!more()) return take(kept_.size());
    }
  }
  std::string rest() {
    while (more()) {
    }
    return take(kept_.size());
  }
  bool closed() { return rest().empty() && !timed_out_; }

 private:
  bool ready(short what) {
    pollfd state{stream_->descriptor(), what, 0};
    timed_out_ = ::poll(&state, 1, 10'000) <= 0;
    EXPECT_FALSE(timed_out_) << "the server is silent";
    return !timed_out_;
  }
  bool more() {
    char bytes[4096];
    for (;;) {
      const auto tried = stream_->receive(bytes, sizeof bytes);
      kept_.append(bytes, tried.bytes);
      if (tried.bytes > 0) return true;
      if (tried.awaits == 0 || !ready(tried.awaits)) return false;
    }
  }

  std::unique_ptr<ClientStream> stream_;
  std::string kept_;
  bool timed_out_ = false;
};

// The far end of a tunnel: what a worker's terminal is to a server.
class Terminal {
 public:
  explicit Terminal(const std::filesystem::path& path)
      : listening_(std::move(*listen_unix(path, SocketAccess::owner))) {}
  void accept() {
    pollfd state{listening_.get(), POLLIN, 0};
    ASSERT_GT(::poll(&state, 1, 10'000), 0);
    fd_.reset(::accept(listening_.get(), nullptr, nullptr));
  }
  std::string read() const {
    char bytes[100];
    const auto count = ::read(fd_.get(), bytes, sizeof bytes);
    return {bytes, static_cast<std::size_t>(std::max<ssize_t>(count, 0))};
  }
  void write(std::string_view text) const {
    EXPECT_EQ(::write(fd_.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  void hang_up() { fd_.reset(); }

 private:
  UniqueFd listening_;
  UniqueFd fd_;
};

// A thread with an io_context; everything on it is called through on().
class LoopThread {
 public:
  LoopThread() : work_(io_.get_executor()), thread_([this] { io_.run(); }) {}
  LoopThread(const LoopThread&) = delete;
  LoopThread& operator=(const LoopThread&) = delete;
  ~LoopThread() {
    work_.reset();
    io_.stop();
    thread_.join();
  }
  boost::asio::io_context& io() { return io_; }

  template <class Work>
  auto on(Work work) {
    std::packaged_task<decltype(work())()> task(std::move(work));
    auto result = task.get_future();
    boost::asio::post(io_, [&task] { task(); });
    return result.get();
  }

 private:
  boost::asio::io_context io_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  std::thread thread_;
};

// GET /hello, POST /echo, and GET /soon, which is answered a little later.
inline void add_plain_routes(Router& router) {
  router.add("GET", "/hello", [](const auto& exchange) { exchange->reply({.body = "{}"}); });
  router.add("POST", "/echo", [](const auto& exchange) {
    exchange->reply({.status = 201, .body = exchange->request().body});
  });
  router.add("GET", "/soon", [](const auto& exchange) {
    exchange->after(std::chrono::milliseconds{1},
                    [exchange] { exchange->reply({.body = "soon"}); });
  });
}

// Sends several requests to them at once.
inline void expect_answers_in_order(Client& client) {
  client.send(
      "GET /soon HTTP/1.1\r\nHost: x\r\n\r\nPOST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: "
      "3\r\n\r\none"
      "GET /hello HTTP/1.1\r\nHost: x\r\n\r\nPOST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: "
      "3\r\n\r\ntwo");
  for (const char* body : {"soon", "one", "{}", "two"}) EXPECT_EQ(client.reply().body, body);
}

}  // namespace paceline
