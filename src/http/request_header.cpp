#include "http/request_header.hpp"

#include <boost/beast/core/string.hpp>

namespace http = boost::beast::http;

namespace paceline {
namespace {

using BeastRequest = http::request<http::string_body>;

bool is_folded(std::string_view raw) {
  return raw.find("\n ") != std::string_view::npos || raw.find("\n\t") != std::string_view::npos;
}

Result<void> check_length(const BeastRequest& request) {
  const auto encodings = request.count(http::field::transfer_encoding);
  if (encodings == 0) return {};
  if (request.count(http::field::content_length) > 0) {
    return fail(ErrorCode::invalid, "The request has a Content-Length and a Transfer-Encoding.",
                "Send one of them.");
  }
  if (encodings == 1 && boost::beast::iequals(request[http::field::transfer_encoding], "chunked")) {
    return {};
  }
  return fail(ErrorCode::invalid, "The request has a Transfer-Encoding other than 'chunked'.",
              "Send a Content-Length.");
}

Result<void> check_host(const BeastRequest& request) {
  const auto hosts = request.count(http::field::host);
  if (hosts == 1 || (hosts == 0 && request.version() < 11)) return {};
  return fail(ErrorCode::invalid,
              hosts == 0 ? "The request has no Host." : "The request has more than one Host.",
              "Send one, like 'Host: paceline'.");
}

}  // namespace

Result<void> check_header(std::string_view raw, const BeastRequest& request) {
  if (is_folded(raw)) {
    return fail(ErrorCode::invalid, "A line of the request's header goes on on the next one.",
                "Write each on one line.");
  }
  if (auto ok = check_length(request); !ok) return ok;
  if (auto ok = check_host(request); !ok) return ok;
  if (request.target().starts_with('/')) return {};
  return fail(ErrorCode::invalid, "The request's target is no path.",
              "Ask for a path like /v1/jobs.");
}

}  // namespace paceline
