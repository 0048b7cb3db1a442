// The HTTP API (docs/api.md) as the commands use it: answers as documents, errors as the server
// worded them.
#pragma once

#include <string>

#include "cli/document.hpp"
#include "cli/http_client.hpp"

namespace paceline {

class Api {
 public:
  // `socket` is where the server answers (cli/locate.hpp).
  explicit Api(std::string socket) : socket_(socket), http_(std::move(socket)) {}

  [[nodiscard]] const std::string& socket() const { return socket_; }

  // Errors: what the server says; unavailable with Retry::may_help where trying again can help.
  Result<std::string> send(const HttpRequest& request);
  Result<Document> ask(const HttpRequest& request);
  Result<Document> get(const std::string& target);
  Result<Document> post(const std::string& target, const std::string& body = "{}");
  Result<Document> put(const std::string& target, const std::string& body);
  Result<Document> remove(const std::string& target);

  // Every page of GET /v1/jobs with this query ("all=1", may be empty), as one {"jobs": […],
  // "next": null}.
  Result<Document> jobs(const std::string& query);

 private:
  std::string socket_;
  HttpClient http_;
};

// "/v1/jobs/7", "/v1/jobs/7/logs".
std::string job_target(std::uint32_t id, std::string_view what = {});

// `text` as a part of a target: all but letters, digits, '-', '.', '_' as %XX.
std::string url_encoded(std::string_view text);

// True if the server was only away for a moment, as when it restarts.
bool is_away(const Error& error);

}  // namespace paceline
