// For tests: both ends of a session as they are told of it, and a peer that speaks to a far end as the
// server's connection does.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "http/transport.hpp"
#include "wire/agent_link.hpp"

namespace paceline::testing {

class FakeServerEnd final : public ServerEnd {
 public:
  void connected(Session session) override {
    EXPECT_GT(session, newest_);
    newest_ = session;
    open_.push_back(session);
  }
  void disconnected(Session session) override { std::erase(open_, session); }
  void receive(AgentFrame frame) override {
    received_.push_back(std::move(frame));
    if (on_receive_) on_receive_(received_.back());
  }
  void on_send(std::function<void(ServerFrame)> send) override { send_ = std::move(send); }
  void step() override {}
  [[nodiscard]] std::optional<Time> next_due() const override { return {}; }

  Session newest_;
  std::vector<Session> open_;
  std::vector<AgentFrame> received_;
  std::function<void(const AgentFrame&)> on_receive_;
  std::function<void(ServerFrame)> send_;
};

class FakeAgentEnd final : public AgentEnd {
 public:
  void connected(Session session) override {
    session_ = session;
    ++connections_;
    if (on_connected_) on_connected_(session);
  }
  void disconnected() override { session_.reset(); }
  void receive(ServerFrame frame) override { received_.push_back(std::move(frame)); }
  void on_send(std::function<void(AgentFrame)> send) override { send_ = std::move(send); }
  void on_wake(std::function<void()>) override {}
  void step(Time) override {}
  [[nodiscard]] std::optional<Time> next_due() const override { return {}; }

  std::optional<Session> session_;
  int connections_ = 0;
  std::vector<ServerFrame> received_;
  std::function<void(Session)> on_connected_;
  std::function<void(AgentFrame)> send_;
};

inline Hello hello_of(const std::string& name, const std::string& boot,
                      const std::string& address = "10.0.0.7") {
  Hello hello;
  hello.node.name = name;
  hello.node.address = address;
  hello.boot_id = boot;
  return hello;
}

inline ShouldStop should_stop(const std::string& reason = "soon") {
  return {{JobId{7}, Generation{1}, 0}, reason};
}

// Passes bytes to a far end and back, as Connection::tunnel() does.
class FarPeer {
 public:
  FarPeer(boost::asio::io_context& io, std::shared_ptr<ServerStream> far)
      : io_(io), far_(std::move(far)) {}

  // False: the far end takes no more.
  bool say(const std::string& text) {
    ServerStream::Failure failure;
    boost::asio::co_spawn(
        io_,
        [&]() -> ServerStream::Awaitable<void> {
          const boost::asio::const_buffer piece(text.data(), text.size());
          (void)co_await far_->write_some({&piece, 1}, failure);
        },
        boost::asio::detached);
    run_until_quiet();
    return !failure;
  }
  // What is there to be read by now.
  std::string heard() {
    read();
    run_until_quiet();
    return std::exchange(heard_->text, {});
  }
  // So many lines, or all until the end.
  std::vector<std::string> lines(std::size_t count) {
    std::vector<std::string> lines;
    read();
    while (lines.size() < count) {
      const auto end = heard_->text.find('\n');
      if (end == std::string::npos && (heard_->ended || io_.run_one() == 0)) break;
      if (end == std::string::npos) continue;
      lines.push_back(heard_->text.substr(0, end));
      heard_->text.erase(0, end + 1);
    }
    return lines;
  }
  bool ended() {
    read();
    run_until_quiet();
    return heard_->ended;
  }
  // Waits for it.
  void await_end() {
    read();
    while (!heard_->ended && io_.run_one() > 0) {
    }
  }
  void leave() { far_->close(); }

 private:
  void run_until_quiet() {
    io_.restart();
    io_.poll();
    io_.restart();
  }
  void read() {
    if (std::exchange(heard_->reading, true)) return;
    boost::asio::co_spawn(
        io_,
        [heard = heard_, far = far_]() -> ServerStream::Awaitable<void> {
          ServerStream::Failure failure;
          std::array<char, 100> bytes;
          while (!failure) {
            const auto count = co_await far->read_some(boost::asio::buffer(bytes), failure);
            heard->text.append(bytes.data(), count);
          }
          heard->ended = true;
        },
        boost::asio::detached);
  }

  // Outlives the peer where it still reads.
  struct Heard {
    std::string text;
    bool reading = false, ended = false;
  };

  boost::asio::io_context& io_;
  std::shared_ptr<ServerStream> far_;
  std::shared_ptr<Heard> heard_ = std::make_shared<Heard>();
};

}  // namespace paceline::testing
