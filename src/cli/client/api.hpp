// The HTTP API (docs/api.md) as the commands use it: answers as documents, errors as the server
// worded them.
#pragma once

#include <string>

#include "cli/words/document.hpp"
#include "cli/words/job_filter.hpp"
#include "http/client.hpp"

namespace paceline {

class Api {
 public:
  // cli/client/locate.hpp finds it.
  explicit Api(ServerAddress server) : server_(server), http_(std::move(server)) {}

  [[nodiscard]] const ServerAddress& server() const { return server_; }

  // Errors: what the server says; unavailable with Retry::may_help where trying again can help.
  Result<std::string> send(const ClientRequest& request);
  // Did the server say so itself, where the newest of these failed?
  [[nodiscard]] bool is_answered() const { return is_answered_; }
  Result<Document> ask(const ClientRequest& request);
  Result<Document> get(const std::string& target);
  Result<Document> post(const std::string& target, const std::string& body = "{}");
  Result<Document> put(const std::string& target, const std::string& body);
  Result<Document> remove(const std::string& target);

  // Every page of GET /v1/jobs with this query ("all=1", may be empty) through the filter, as one
  // {"jobs": […], "next": null}.
  Result<Document> jobs(const std::string& query, const JobsWanted& wanted);
  // Every page of GET /v1/expected, as one {"jobs": […]}. Errors: not_found: an older server.
  Result<Document> expected();

 private:
  // Every page of a list of jobs. REQUIRES: the target has a query.
  Result<Document> pages(const std::string& target, const JobsWanted& wanted);

  ServerAddress server_;
  HttpClient http_;
  bool is_answered_ = false;
};

// "/v1/jobs/7", "/v1/jobs/7/logs".
std::string job_target(std::uint32_t id, std::string_view what = {});

// True if the server was only away for a moment, as when it restarts.
bool is_away(const Error& error);

}  // namespace paceline
