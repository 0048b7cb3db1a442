// Exchange and HttpStream as the HTTP server makes them. Internal to http_server.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "http/http.hpp"
#include "http/stream_queue.hpp"

namespace paceline {

class Connection;

class LiveStream final : public HttpStream, public std::enable_shared_from_this<LiveStream> {
 public:
  LiveStream(std::weak_ptr<Connection> connection, std::size_t bytes_max)
      : connection_(std::move(connection)), queue_(bytes_max) {}

  void send(const StreamEvent& event) override;
  [[nodiscard]] bool has_room() const override;
  void end() override;
  void on_room(std::function<void()> ready) override { on_room_ = std::move(ready); }
  void go_on_later() override;
  void on_gone(std::function<void()> gone) override;

  // ---- for the connection ----
  StreamQueue& queue() { return queue_; }
  // True once nothing more will be queued.
  [[nodiscard]] bool over() const { return over_; }
  void offer_room();
  void cut(std::string_view reason);
  void client_left();

 private:
  void wake();

  std::weak_ptr<Connection> connection_;
  StreamQueue queue_;
  std::function<void()> on_room_;
  std::function<void()> on_gone_;
  mutable bool waits_for_room_ = false;  // its producer was told that there is none
  bool goes_on_ = false;                 // in the next turn
  bool over_ = false;
  bool gone_ = false;  // over because the client left or was cut
};

struct Tunnel {
  std::string protocol;
  std::shared_ptr<ServerStream> far;
};

using Answer = std::variant<std::monostate, HttpResponse, std::shared_ptr<LiveStream>, Tunnel>;

class LiveExchange final : public Exchange, public std::enable_shared_from_this<LiveExchange> {
 public:
  LiveExchange(const std::shared_ptr<Connection>& connection, boost::asio::steady_timer timer,
               std::size_t stream_bytes_max, HttpRequest request)
      : connection_(connection),
        timer_(std::move(timer)),
        stream_bytes_max_(stream_bytes_max),
        request_(std::move(request)) {}

  [[nodiscard]] const HttpRequest& request() const override { return request_; }
  void reply(HttpResponse response) override { answer(std::move(response)); }
  std::shared_ptr<HttpStream> stream() override;
  void tunnel(std::string protocol, std::shared_ptr<ServerStream> far) override;
  void after(Duration wait, std::function<void()> due) override;
  void on_gone(std::function<void()> gone) override { on_gone_ = std::move(gone); }

  void client_left();

 private:
  void answer(Answer answer);

  std::weak_ptr<Connection> connection_;
  boost::asio::steady_timer timer_;
  std::size_t stream_bytes_max_;
  HttpRequest request_;
  std::function<void()> on_gone_;
  bool answered_ = false;
  bool gone_ = false;
};

}  // namespace paceline
