// How fast a job trains with so many workers, relative to the size it wants: fitted to the rates
// that were measured, and where nothing was measured a prior.
//
//   Scaling scaling(job);
//   scaling.speed(8) / scaling.speed(4)      → 1.7: eight workers train 1.7 times as fast as four
//
// Prior: what the job expects of itself (JobSpec::expected_speeds), else linear up to the wanted size
// and beyond it Amdahl's law with kSerialPart. Fit: seconds per unit of work = a + b / workers with
// a, b >= 0, by least squares over the measured sizes, weighed by their reports; needs two sizes. A job
// that expects speeds is not fitted: between measured sizes it keeps the shape that it expects. A size
// that was measured counts as measured.
//
// Rates of several device models are brought to the main one, of which most was reported, by how fast
// the devices are for this job: at sizes that were measured on both, else by what the curve so far says
// of a device's own sizes. So a job that grew onto slower devices is not taken to scale badly. A device
// that was measured at a single size, and alone there, tells nothing of the curve and is left out. On such
// a model itself its own rates count: pace().
//
// Source: the shape is Amdahl's; Optimus (EuroSys'18) and Voda (2023) fit the same quantity.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/job.hpp"

namespace paceline {

struct Node;

inline constexpr double kSerialPart = 0.05;  // of the work, beyond the wanted size

// What a table of speeds says of a size: in between and to no worker linear, beyond the last flat.
// REQUIRES: the table has a size; sizes rise from 1.
double speed_in(const Points<std::int32_t>& speeds, std::int32_t workers);

// The models of a gang's slots, as SpeedPoint::device has them: several are a model of their own.
std::string devices_of(const std::vector<Node>& nodes, const Gang& gang);

// Was the job measured on more than one model? Only then does it matter on which one it is.
bool measured_on_several(const Job& job);

// How fast the devices of its gang are for the job with so many workers, where 1 is its main model: by what was
// measured there, at that size or else at others. 1 without a gang, and on a model where nothing was measured.
double pace(const std::vector<Node>& nodes, const Job& job, std::int32_t workers);

class Scaling {
 public:
  // Over every kind of place the job was measured on, as on the main device model.
  explicit Scaling(const Job& job);

  // 1 at the wanted size, 0 without workers.
  [[nodiscard]] double speed(std::int32_t workers) const;
  // Work per second, in the unit the script reports. Nothing if it was never measured.
  [[nodiscard]] std::optional<double> rate(std::int32_t workers) const;
  // How far the speed may be off, as a part of it: 0.1 is 10 %. Wide where nothing was measured.
  [[nodiscard]] double uncertainty(std::int32_t workers) const;
  [[nodiscard]] bool measured() const { return !sizes_.empty(); }

 private:
  struct Size {
    std::int32_t workers;
    double rate;
    double deviation;  // of the rate
    double weight;
  };

  // How fast a device is: 1 is those before it.
  struct DeviceSpeed {
    double speed;
    double doubt;  // as a part of it
  };

  void add(const Job& job, std::string_view device);
  [[nodiscard]] std::optional<DeviceSpeed> speed_of(const Job& job, std::string_view device) const;
  Size& size_of(std::int32_t workers);
  void fit();
  void keep_shape();
  [[nodiscard]] double prior(std::int32_t workers) const;
  [[nodiscard]] double estimate(std::int32_t workers) const;  // in the unit of rate(), or prior()
  [[nodiscard]] const Size* find(std::int32_t workers) const;

  std::int32_t want_;
  std::shared_ptr<const JobSpec> expects_;         // where the job expects speeds; else nullptr
  std::vector<Size> sizes_;                        // by workers
  double seconds_fixed_ = 0, seconds_shared_ = 0;  // a and b of the fit
  double rate_of_prior_ = 0;                       // of what the job expects: work per second
  double at_want_ = 1;
};

}  // namespace paceline
