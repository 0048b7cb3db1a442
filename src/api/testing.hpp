// For tests: an exchange without a network, by whomever the test says.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "api/http.hpp"
#include "api/router.hpp"
#include "api/url.hpp"

namespace paceline {

// Keeps what a route answers.
class KeptExchange final : public Exchange {
 public:
  explicit KeptExchange(ApiRequest request) : request_(std::move(request)) {}

  [[nodiscard]] const ApiRequest& request() const override { return request_; }
  void reply(ApiResponse response) override { response_ = std::move(response); }
  std::shared_ptr<ApiStream> stream() override {
    ADD_FAILURE() << "no stream was expected";
    return nullptr;
  }
  void tunnel(std::string, std::string) override { ADD_FAILURE() << "no tunnel was expected"; }
  void after(Duration, std::function<void()>) override {}
  void on_gone(std::function<void()>) override {}

  [[nodiscard]] const std::optional<ApiResponse>& response() const { return response_; }

 private:
  ApiRequest request_;
  std::optional<ApiResponse> response_;
};

// Hands a request of user `uid` to its route.
inline std::shared_ptr<KeptExchange> ask(const Router& router, std::uint32_t uid,
                                         std::string_view method, std::string_view target,
                                         std::string body = {}) {
  auto url = parse_url(target);
  ApiRequest request{
      {uid, uid, 1}, std::string(method), url->path, url->query, {}, std::move(body), {}};
  auto found = router.find(method, request.path);
  EXPECT_NE(found.handler, nullptr) << target;
  request.ids = std::move(found.ids);
  auto exchange = std::make_shared<KeptExchange>(std::move(request));
  (*found.handler)(exchange);
  return exchange;
}

}  // namespace paceline
