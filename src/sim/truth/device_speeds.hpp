// How fast a cluster's devices train, against one that trains as fast as the trace says. Of all jobs
// alike, in words, or as it was measured of each application:
//
//   A100=1,V100=0.45     short names, as people write them (model/device_model.hpp)
//   throughputs.json     steps a second by device, then by "('LM (batch size 5)', 1)", the name of an
//                        application and its slots, then under "null", alone: the format of Gavel
//                        (OSDI'20), stanford-futuredata/gavel
//   profiles/            step times of an application in placements-DEVICE.csv and
//                        scalability-DEVICE.csv: the format of Sia (SOSP'23), siasosp23/artifacts,
//                        read by traces/profiles.hpp
//
// A gang is as fast as the slowest device in it: its workers wait for each other in every step.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "model/node.hpp"
#include "sim/truth/profile.hpp"

namespace paceline::sim {

// By the model of a slot, all above 0.
using SpeedByModel = std::map<std::string, double, std::less<>>;

// Steps a second of an application on so many slots, by device.
using ByApplication = std::map<std::pair<std::string, std::int32_t>, double>;
using ByDevice = std::map<std::string, ByApplication>;

class DeviceSpeeds {
 public:
  // `models`: of the cluster, each of which must be named. Errors: invalid.
  static Result<DeviceSpeeds> of_words(std::string_view text,
                                       const std::vector<std::string>& models);
  // Against `reference`, a device of the file on which the trace's durations were taken; empty: its
  // fastest. Errors: invalid, data.
  static Result<DeviceSpeeds> of_throughputs(std::string_view json, std::string_view reference,
                                             const std::vector<std::string>& models);

  // Likewise. Gangs of as many replicas, on as few nodes as they were measured on, are held against
  // each other by the geometric mean of their step times over the local batches that both have.
  static Result<DeviceSpeeds> of_profiles(const std::map<std::string, Profiles>& by_device,
                                          std::string_view reference,
                                          const std::vector<std::string>& models);

  // Of a job of that application with so many slots: measured so, else with the nearest number of
  // slots; nullptr: nothing is known of it, and all devices are alike for it. Valid as long as this
  // is.
  [[nodiscard]] const SpeedByModel* of(const std::string& application, std::int32_t slots) const;
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  static Result<DeviceSpeeds> of_measured(const ByDevice& measured, std::string_view reference,
                                          const std::vector<std::string>& models);

  std::string text_;  // in words, for people
  SpeedByModel of_all_;
  std::map<std::string, std::map<std::int32_t, SpeedByModel>> of_applications_;
};

// The models of the cluster's slots, each once, in order.
std::vector<std::string> models_of(const std::vector<NodeSpec>& nodes);

}  // namespace paceline::sim
