#include "api/metrics_page.hpp"

namespace paceline {
namespace {

void answer(const MetricsPage& page, Exchange& exchange) {
  const auto format = metrics_format(exchange.request().header("accept"));
  exchange.reply({.body = page.text(format), .content_type = std::string(content_type(format))});
}

}  // namespace

void add_metrics_routes(Routes& routes, const SharedPage& page) {
  routes.add("GET", "/metrics", Action::see,
             [page](const std::shared_ptr<Exchange>& exchange) { answer(*page, *exchange); });
}

Router metrics_router(const SharedPage& page) {
  Router router;
  router.add("GET", "/metrics",
             [page](const std::shared_ptr<Exchange>& exchange) { answer(*page, *exchange); });
  return router;
}

}  // namespace paceline
