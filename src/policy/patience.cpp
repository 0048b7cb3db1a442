#include "policy/patience.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/check.hpp"
#include "base/span.hpp"
#include "estimate/remaining.hpp"
#include "policy/orders.hpp"

namespace paceline {
namespace {

constexpr Duration kLeast = std::chrono::minutes{30};
constexpr Duration kMost = std::chrono::hours{6};
constexpr double kPartOfLength = 0.1;

Duration automatic(const Job& job) {
  const double left = length_left(job, job.changed_at);
  if (std::isinf(left)) return kLeast;
  const double part = std::min(kPartOfLength * left, to_seconds(kMost));
  return std::clamp(from_seconds(part), kLeast, kMost);
}

Time begins_to_wait(const Job& job) { return std::max(job.waiting_since, job.eligible_at); }

double seconds_runs_out(const Job& job, const Order::Parameters& parameters) {
  const bool fixed = parameters[0] >= 0;
  return to_seconds(begins_to_wait(job)) + (fixed ? parameters[0] : to_seconds(automatic(job)));
}

}  // namespace

Result<Patience> Patience::parse(std::string_view text) {
  Patience patience;
  if (text == "auto") return patience;
  patience.kind_ = text == "off" ? Kind::off : Kind::fixed;
  if (patience.is_off()) return patience;
  const auto span = parse_whole_span(text);
  if (!span || *span < std::chrono::seconds{1}) {
    return fail(ErrorCode::invalid, fmt::format("The patience can't be '{}'.", text),
                "It is auto, off, or a time like 90s, 30m, 2h or 1d.");
  }
  patience.span_ = *span;
  return patience;
}

std::string Patience::text() const {
  if (kind_ == Kind::automatic) return "auto";
  if (is_off()) return "off";
  return fmt::format("{}s", std::chrono::duration_cast<std::chrono::seconds>(span_).count());
}

Duration Patience::of(const Job& job) const {
  check(!is_off(), "somebody has patience");
  return kind_ == Kind::fixed ? span_ : automatic(job);
}

Time Patience::runs_out(const Job& job) const { return begins_to_wait(job) + of(job); }

Order Patience::order() const {
  const double fixed = kind_ == Kind::fixed ? to_seconds(span_) : -1;
  return {seconds_runs_out, least_slots, nullptr, {fixed, 0}, nullptr};
}

}  // namespace paceline
