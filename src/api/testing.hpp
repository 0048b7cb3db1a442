// For tests: an exchange without a network, by whomever the test says.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "http/http.hpp"
#include "http/router.hpp"
#include "http/url.hpp"

namespace paceline {

// Keeps what a route answers.
class KeptExchange final : public Exchange {
 public:
  explicit KeptExchange(HttpRequest request) : request_(std::move(request)) {}

  [[nodiscard]] const HttpRequest& request() const override { return request_; }
  void reply(HttpResponse response) override { response_ = std::move(response); }
  std::shared_ptr<HttpStream> stream() override {
    ADD_FAILURE() << "no stream was expected";
    return nullptr;
  }
  void tunnel(std::string protocol, std::shared_ptr<ServerStream> far) override {
    tunnel_ = {std::move(protocol), std::move(far)};
  }
  void after(Duration, std::function<void()>) override {}
  void on_gone(std::function<void()>) override {}

  [[nodiscard]] const std::optional<HttpResponse>& response() const { return response_; }
  // What it became the near end of; an empty protocol: of nothing.
  struct Tunnelled {
    std::string protocol;
    std::shared_ptr<ServerStream> far;
  };
  [[nodiscard]] const Tunnelled& tunnelled() const { return tunnel_; }

 private:
  HttpRequest request_;
  std::optional<HttpResponse> response_;
  Tunnelled tunnel_;
};

// Hands a request of whoever is at the other end to its route.
inline std::shared_ptr<KeptExchange> ask(const Router& router, Peer peer, std::string_view method,
                                         std::string_view target, std::string body = {},
                                         std::string_view token = {}) {
  auto url = parse_url(target);
  HttpRequest request{
      std::move(peer), std::string(method), url->path, url->query, {}, std::move(body), {}};
  if (!token.empty())
    request.headers.emplace_back("Authorization", fmt::format("Bearer {}", token));
  auto found = router.find(method, request.path);
  EXPECT_NE(found.handler, nullptr) << target;
  request.ids = std::move(found.ids);
  auto exchange = std::make_shared<KeptExchange>(std::move(request));
  (*found.handler)(exchange);
  return exchange;
}

// The same of user `uid` on this machine.
inline std::shared_ptr<KeptExchange> ask(const Router& router, std::uint32_t uid,
                                         std::string_view method, std::string_view target,
                                         std::string body = {}) {
  return ask(router, unix_peer({uid, uid, 1}), method, target, std::move(body));
}

}  // namespace paceline
