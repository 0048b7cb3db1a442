#include "agent/linux/gang_news.hpp"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <utility>

namespace paceline::agent {
namespace {

using Json = nlohmann::json;

// 0: none, or no number.
std::uint64_t version_in(const HttpRequest& request) {
  const auto found = request.query.find("after");
  std::uint64_t version = 0;
  if (found == request.query.end()) return version;
  const std::string& text = found->second;
  std::from_chars(text.data(), text.data() + text.size(), version);
  return version;
}

Result<std::optional<Generation>> generation_in(const Json& body, const char* name) {
  const auto found = body.find(name);
  if (found == body.end()) return std::optional<Generation>();
  if (!found->is_number_unsigned() || found->get<std::uint64_t>() > UINT32_MAX)
    return fail(ErrorCode::invalid, std::string("\"") + name + "\" is the number of a generation.");
  return std::optional(Generation{found->get<std::uint32_t>()});
}

Error malformed() {
  return {
      ErrorCode::invalid,
      R"(POST /v1/gang takes {"ready": GENERATION}, {"met": GENERATION} or {"stands": GENERATION}.)",
      {},
      Retry::useless};
}

}  // namespace

void GangNews::go_on(Generation generation, std::map<std::string, std::string> environment) {
  next_ = {generation, std::move(environment)};
  wake();
}

void GangNews::leave(Generation generation) {
  next_ = {generation, {}};
  wake();
}

std::size_t GangNews::ask_for_stacks() {
  std::erase_if(waiting_, [](const auto& each) { return each.expired(); });
  const auto asked = waiting_.size();
  ++asked_;
  wake();
  return asked;
}

void GangNews::wake() {
  ++version_;
  for (const auto& each : std::exchange(waiting_, {}))
    if (const auto exchange = each.lock()) exchange->reply(answer());
}

void GangNews::wait(const std::shared_ptr<Exchange>& exchange) {
  if (version_in(exchange->request()) != version_) return exchange->reply(answer());
  std::erase_if(waiting_, [](const auto& each) { return each.expired(); });
  if (waiting_.size() >= kGangNewsWaitersMax) return exchange->reply(answer());
  waiting_.push_back(exchange);
  // It is this timer that keeps the exchange.
  exchange->after(kGangNewsWait, [this, exchange] {
    std::erase_if(waiting_, [&](const auto& each) { return each.lock() == exchange; });
    exchange->reply(answer());
  });
}

HttpResponse GangNews::answer() const {
  Json next;
  if (next_) {
    next = {{"generation", next_->generation.value}, {"environment", Json()}};
    if (next_->environment) next["environment"] = *next_->environment;
  }
  return {.body = Json({{"version", version_},
                        {"next", std::move(next)},
                        {"ready", ready_.value},
                        {"stands", stands_.value},
                        {"stacks", asked_}})
                      .dump()};
}

HttpResponse GangNews::say(const std::string& body) {
  const Json said = Json::parse(body, nullptr, false);
  if (!said.is_object()) return error_response(malformed());
  const auto ready = generation_in(said, "ready"), stands = generation_in(said, "stands");
  const auto met = generation_in(said, "met");
  if (!ready) return error_response(ready.error());
  if (!stands) return error_response(stands.error());
  if (!met) return error_response(met.error());
  if (!*ready && !*stands && !*met) return error_response(malformed());
  has_met_ = has_met_ || *met || *stands;
  const auto before = std::pair(ready_, stands_);
  ready_ = ready->value_or(ready_);
  stands_ = stands->value_or(stands_);
  if (before != std::pair(ready_, stands_)) said_(ready_, stands_);
  return {.body = "{}"};
}

}  // namespace paceline::agent
