#include "cli/client/api.hpp"

#include <fmt/format.h>

#include "wire/error_json.hpp"

namespace paceline {

Result<std::string> Api::send(const ClientRequest& request) {
  auto response = http_.send(request);
  is_answered_ = response.has_value();
  if (!response) return fail(std::move(response.error()));
  if (response->status >= 400) return fail(read_error(response->body));
  return std::move(response->body);
}

Result<Document> Api::ask(const ClientRequest& request) {
  return send(request).and_then([](const std::string& body) { return parse_document(body); });
}

Result<Document> Api::get(const std::string& target) {
  ClientRequest request;
  request.target = target;
  return ask(request);
}

Result<Document> Api::post(const std::string& target, const std::string& body) {
  ClientRequest request;
  request.method = "POST";
  request.target = target;
  request.body = body;
  return ask(request);
}

Result<Document> Api::put(const std::string& target, const std::string& body) {
  ClientRequest request;
  request.method = "PUT";
  request.target = target;
  request.body = body;
  return ask(request);
}

Result<Document> Api::remove(const std::string& target) {
  ClientRequest request;
  request.method = "DELETE";
  request.target = target;
  return ask(request);
}

Result<Document> Api::jobs(const std::string& query, const JobsWanted& wanted) {
  return pages(fmt::format("/v1/jobs?limit=1000{}{}", query.empty() ? "" : "&", query), wanted);
}

Result<Document> Api::expected() { return pages("/v1/expected?limit=10000", {}); }

Result<Document> Api::pages(const std::string& target, const JobsWanted& wanted) {
  JobFilter filter(wanted);
  std::int64_t after = 0;
  for (;;) {
    auto page = get(fmt::format("{}&after={}", target, after));
    if (!page) return page;
    for (const auto& job : list_of(*page, "jobs")) filter.take(job);
    const auto next = whole_of(*page, "next");
    if (next <= after) return filter.jobs();
    after = next;
  }
}

std::string job_target(std::uint32_t id, std::string_view what) {
  return fmt::format("/v1/jobs/{}{}{}", id, what.empty() ? "" : "/", what);
}

bool is_away(const Error& error) {
  return error.code == ErrorCode::unavailable && error.retry == Retry::may_help;
}

}  // namespace paceline
