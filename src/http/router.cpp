#include "http/router.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "wire/error_json.hpp"

namespace paceline {
namespace {

// "/v1/jobs/7" → "v1", "jobs", "7".
std::vector<std::string> split(std::string_view path) {
  std::vector<std::string> parts;
  path.remove_prefix(path.starts_with('/') ? 1 : 0);
  for (;;) {
    const auto slash = path.find('/');
    parts.emplace_back(path.substr(0, slash));
    if (slash == std::string_view::npos) return parts;
    path.remove_prefix(slash + 1);
  }
}

bool is_variable(std::string_view part) { return part.starts_with('{'); }

// What the variables of `pattern` stand for, if the path fits it.
std::optional<std::vector<std::string>> fit(const std::vector<std::string>& pattern,
                                            const std::vector<std::string>& path) {
  if (pattern.size() != path.size()) return {};
  std::vector<std::string> ids;
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (is_variable(pattern[i]) && !path[i].empty()) {
      ids.push_back(path[i]);
    } else if (pattern[i] != path[i]) {
      return {};
    }
  }
  return ids;
}

HttpResponse no_such_path(std::string_view path) {
  return error_response({ErrorCode::not_found, fmt::format("There is nothing at {}.", path),
                         "docs/api.md lists every path.", Retry::useless});
}

HttpResponse wrong_method(std::string_view method, std::string_view path,
                          const std::vector<std::string>& allowed) {
  const auto names = fmt::format("{}", fmt::join(allowed, ", "));
  auto response =
      error_response({ErrorCode::invalid, fmt::format("{} does not answer {}.", path, method),
                      fmt::format("Use {}.", names), Retry::useless});
  response.status = 405;
  response.headers.emplace_back("Allow", names);
  return response;
}

}  // namespace

Router& Router::add(std::string_view method, std::string_view pattern, Handler handler) {
  routes_.push_back({std::string(method), split(pattern), std::move(handler)});
  return *this;
}

Router& Router::otherwise(Handler handler) {
  otherwise_ = std::move(handler);
  return *this;
}

Router::Found Router::find(std::string_view method, std::string_view path) const {
  const auto parts = split(path);
  std::vector<std::string> allowed;
  for (const auto& route : routes_) {
    auto ids = fit(route.parts, parts);
    if (!ids) continue;
    if (route.method == method) return {&route.handler, std::move(*ids), {}};
    allowed.push_back(route.method);
  }
  if (otherwise_) return {&otherwise_, {}, {}};
  if (allowed.empty()) return {nullptr, {}, no_such_path(path)};
  return {nullptr, {}, wrong_method(method, path, allowed)};
}

}  // namespace paceline
