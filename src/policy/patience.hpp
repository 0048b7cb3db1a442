// For how long a waiting job may be passed over before slots are kept for it (policy/patient.hpp).
//
//   Patience::parse("30m")->runs_out(job)      → half an hour after the job began to wait
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "model/job.hpp"
#include "model/waiting_order.hpp"

namespace paceline {

class Patience {
 public:
  // Half an hour, or a tenth of the job's likely length if that is longer, at most six hours.
  Patience() = default;

  // "auto", the same as above; "off", for ever; or a time: "90s", "30m", "2h", "1d". Errors: invalid.
  static Result<Patience> parse(std::string_view text);
  [[nodiscard]] std::string text() const;

  [[nodiscard]] bool is_off() const { return kind_ == Kind::off; }
  // REQUIRES: it is not off.
  [[nodiscard]] Duration of(const Job& job) const;
  // When the job, waiting since it could last have started, will have waited for that long.
  // REQUIRES: it is not off; the job waits.
  [[nodiscard]] Time runs_out(const Job& job) const;
  // Waiting jobs by that time. REQUIRES: it is not off.
  [[nodiscard]] Order order() const;

  friend bool operator==(const Patience&, const Patience&) = default;

 private:
  enum class Kind { automatic, fixed, off };
  Kind kind_ = Kind::automatic;
  Duration span_{};  // where it is fixed
};

}  // namespace paceline
