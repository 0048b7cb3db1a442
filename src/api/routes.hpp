// The routes of the API, each with the action that it performs. Whether the caller may do that
// is checked before the route is called; where the route names a job, for that job.
//
//   routes.add("GET", "/v1/jobs/{id}/logs", Action::read_private, show_logs);
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/access.hpp"
#include "http/router.hpp"

namespace paceline {

struct ApiContext;

// A row of the table of routes.
struct RouteRow {
  std::string method;
  std::string pattern;
  Action action;
};

// Answers a request that its caller may make, now or later.
using RouteHandler = std::function<void(const std::shared_ptr<Exchange>&, const Principal& by)>;

class Routes {
 public:
  explicit Routes(std::shared_ptr<ApiContext> context) : context_(std::move(context)) {}

  void add(std::string_view method, std::string_view pattern, Action action, RouteHandler handler);
  void add(std::string_view method, std::string_view pattern, Action action, Handler handler);

  [[nodiscard]] const Router& router() const { return router_; }
  [[nodiscard]] const std::vector<RouteRow>& rows() const { return rows_; }

 private:
  std::shared_ptr<ApiContext> context_;
  Router router_;
  std::vector<RouteRow> rows_;
};

}  // namespace paceline
