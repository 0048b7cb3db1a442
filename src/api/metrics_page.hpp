// GET /metrics: how the cluster and the server are, for Prometheus and what reads the same. Only
// what everybody who may ask may see.
//
//   auto page = std::make_shared<MetricsPage>(context);
//   page->text(MetricsFormat::open_metrics)
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>

#include "api/context.hpp"
#include "api/histogram.hpp"
#include "api/metrics_text.hpp"
#include "plan/plan.hpp"

namespace paceline {

// Seconds that jobs waited before their first start.
inline constexpr std::array kWaitBounds = {1.0,    10.0,    60.0,    300.0,   900.0,   3600.0,
                                           7200.0, 14400.0, 28800.0, 86400.0, 604800.0};

class MetricsPage {
 public:
  // Counts what happens from now on.
  explicit MetricsPage(SharedContext context);
  MetricsPage(const MetricsPage&) = delete;
  MetricsPage& operator=(const MetricsPage&) = delete;

  [[nodiscard]] std::string text(MetricsFormat format) const;

 private:
  void count(std::span<const Entry> entries);
  void count(const Plan& plan, Time at);
  void write_jobs(MetricsText& text) const;
  void write_each_job(MetricsText& text) const;
  void write_users(MetricsText& text) const;
  void write_nodes(MetricsText& text) const;
  void write_rounds(MetricsText& text) const;
  void write_server(MetricsText& text) const;

  SharedContext context_;
  std::map<ChangeKind, std::uint64_t> changes_;
  Histogram<kWaitBounds.size()> waits_{kWaitBounds};
  ListenToken entries_;
};

using SharedPage = std::shared_ptr<const MetricsPage>;

void add_metrics_routes(Routes& routes, const SharedPage& page);
// Of the page alone, for anybody who can connect.
Router metrics_router(const SharedPage& page);

}  // namespace paceline
