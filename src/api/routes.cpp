#include "api/routes.hpp"

#include "api/context.hpp"

namespace paceline {
namespace {

constexpr std::string_view kOfAJob = "/v1/jobs/{id}";

Result<void> may(ApiContext& context, const HttpRequest& request, Action action, bool of_a_job,
                 const Principal& by) {
  if (auto any = allowed(by, action); !any || !of_a_job) return any;
  const auto job = context.job(request);
  if (!job) return fail(job.error());
  if (auto ok = allowed(by, action, **job); !ok) return ok;
  context.foreign_looks.note(by, **job, action, context.controller.now());
  return {};
}

// Whose jobs are whose is known by accounts; what else is done is written down by name.
ApiContext::Needs needs_of(Action action, bool of_a_job) {
  const bool by_account = of_a_job || action == Action::see;
  return by_account ? ApiContext::Needs::account : ApiContext::Needs::account_and_name;
}

}  // namespace

void Routes::add(std::string_view method, std::string_view pattern, Action action,
                 RouteHandler handler) {
  rows_.push_back({std::string(method), std::string(pattern), action});
  router_.add(method, pattern,
              [context = context_, action, of_a_job = pattern.starts_with(kOfAJob),
               handler = std::move(handler)](const std::shared_ptr<Exchange>& exchange) {
                const auto& request = exchange->request();
                const auto by = context->caller(request);
                if (!by) return exchange->refuse(by.error());
                const auto known = context->is_known(*by, needs_of(action, of_a_job));
                if (!known) return exchange->refuse(known.error());
                const auto ok = may(*context, request, action, of_a_job, *by);
                if (!ok) return exchange->refuse(ok.error());
                handler(exchange, *by);
              });
}

void Routes::add(std::string_view method, std::string_view pattern, Action action,
                 Handler handler) {
  add(method, pattern, action,
      [handler = std::move(handler)](const std::shared_ptr<Exchange>& exchange, const Principal&) {
        handler(exchange);
      });
}

}  // namespace paceline
