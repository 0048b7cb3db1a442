// Which handler answers which request: a table of method, pattern and handler.
//
//   Router router;
//   router.add("GET", "/v1/jobs/{id}", show_job);
//
// A part of a pattern in braces stands for any one part of a path and lands in HttpRequest::ids.
// Where several patterns fit, the one added first counts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "http/http.hpp"

namespace paceline {

class Router {
 public:
  Router& add(std::string_view method, std::string_view pattern, Handler handler);

  // What answers where no pattern fits, in place of 404 and 405.
  Router& otherwise(Handler handler);

  struct Found {
    const Handler* handler = nullptr;  // lives as long as the router; nullptr: see `refusal`
    std::vector<std::string> ids;
    HttpResponse refusal;  // 404, or 405 with the methods that the path has
  };
  [[nodiscard]] Found find(std::string_view method, std::string_view path) const;

 private:
  struct Route {
    std::string method;
    std::vector<std::string> parts;
    Handler handler;
  };
  std::vector<Route> routes_;
  Handler otherwise_;
};

}  // namespace paceline
