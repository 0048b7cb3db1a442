#include "sim/truth/device_speeds.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "model/device_model.hpp"
#include "wire/json.hpp"

namespace paceline::sim {
namespace {

constexpr double kSpeedMax = 1e6;
constexpr std::size_t kThroughputsBytesMax = 64U << 20;
constexpr std::string_view kSpeedsHint =
    "Name every device of --cluster with its speed, for example A100=1,V100=0.45.";

std::optional<double> speed_of(std::string_view text) {
  double speed = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, speed);
  if (error != std::errc{} || at != end || !(speed > 0 && speed <= kSpeedMax)) return std::nullopt;
  return speed;
}

tl::unexpected<Error> not_named(std::string_view model) {
  return fail(ErrorCode::invalid, fmt::format("Nothing says how fast the device '{}' is.", model),
              std::string(kSpeedsHint));
}

// "('LM (batch size 5)', 1)" → the application and its slots.
std::optional<std::pair<std::string, std::int32_t>> application_in(std::string_view key) {
  const std::size_t comma = key.rfind("', ");
  if (!key.starts_with("('") || !key.ends_with(')') || comma == std::string_view::npos || comma < 2)
    return std::nullopt;
  const std::string_view number = key.substr(comma + 3, key.size() - comma - 4);
  std::int32_t slots = 0;
  const auto [at, error] = std::from_chars(number.data(), number.data() + number.size(), slots);
  if (error != std::errc{} || at != number.data() + number.size() || slots < 1) return std::nullopt;
  return std::pair{std::string(key.substr(2, comma - 2)), slots};
}

tl::unexpected<Error> no_throughputs(std::string_view what) {
  return fail(ErrorCode::data, fmt::format("The file is no measured throughputs: {}.", what),
              "Give a JSON file of steps a second by device and application, as Gavel's are.");
}

Result<ByDevice> read_throughputs(std::string_view text) {
  const auto json = parse_json(text, {kThroughputsBytesMax, 8, 16U << 20});
  if (!json) return no_throughputs(json.error().message);
  if (!json->is_object() || json->empty()) return no_throughputs("it has no devices");
  ByDevice all;
  for (const auto& [device, jobs] : json->items()) {
    if (!jobs.is_object()) return no_throughputs(fmt::format("'{}' has no applications", device));
    for (const auto& [key, figures] : jobs.items()) {
      const auto application = application_in(key);
      if (!application) return no_throughputs(fmt::format("'{}' names no application", key));
      const auto alone = figures.is_object() ? figures.find("null") : figures.end();
      if (!figures.is_object() || alone == figures.end() || !alone->is_number())
        return no_throughputs(fmt::format("'{}' on {} has no figure under \"null\"", key, device));
      if (const double steps = alone->get<double>(); std::isfinite(steps) && steps > 0)
        all[device][*application] = steps;
    }
  }
  return all;
}

// Which of a file's devices a model is: by its whole name, else by its words.
template <class Named>
auto find_device(const Named& devices, std::string_view model) {
  const auto exactly = devices.find(std::string(model));
  if (exactly != devices.end()) return exactly;
  return std::find_if(devices.begin(), devices.end(),
                      [&](const auto& device) { return is_model(device.first, model); });
}

double sum_of(const ByApplication& figures) {
  double sum = 0;
  for (const auto& [application, steps] : figures) sum += steps;
  return sum;
}

using Devices = std::vector<std::pair<std::string, const Profiles*>>;

// Of gangs of so many replicas on as few nodes as they were measured on; nullptr: they were not.
const StepTimes* times_of(const Profile& profile, std::int32_t replicas) {
  for (const auto& [nodes, by_replicas] : profile.scales) {
    const auto found = by_replicas.find(replicas);
    if (found != by_replicas.end()) return &found->second;
  }
  return nullptr;
}

// The times of such gangs of the application on each device; empty where one was not measured.
std::vector<const StepTimes*> times_on(const Devices& devices, const std::string& application,
                                       std::int32_t replicas) {
  std::vector<const StepTimes*> all;
  for (const auto& [device, profiles] : devices) {
    const auto profile = profiles->find(application);
    const auto* times = profile == profiles->end() ? nullptr : times_of(profile->second, replicas);
    if (times == nullptr) return {};
    all.push_back(times);
  }
  return all;
}

std::set<std::int32_t> sizes_of(const Profile& profile) {
  std::set<std::int32_t> sizes;
  for (const auto& [nodes, by_replicas] : profile.scales)
    for (const auto& [replicas, times] : by_replicas) sizes.insert(replicas);
  return sizes;
}

// Of every size that was measured on each of the devices, with local batches that all of them have.
void add_steps(const Devices& devices, const std::string& application, ByDevice& measured) {
  for (const std::int32_t replicas : sizes_of(devices.front().second->at(application))) {
    const auto times = times_on(devices, application, replicas);
    if (times.empty()) continue;
    std::vector<double> logarithms(devices.size());
    int batches = 0;
    for (const auto& [batch, time] : *times.front()) {
      const bool everywhere = std::all_of(
          times.begin(), times.end(), [&, b = batch](const auto* one) { return one->contains(b); });
      if (!everywhere) continue;
      ++batches;
      for (std::size_t i = 0; i < times.size(); ++i)
        logarithms[i] += std::log(times[i]->at(batch).seconds);
    }
    for (std::size_t i = 0; i < devices.size() && batches > 0; ++i)
      measured[devices[i].first][{application, replicas}] = std::exp(-logarithms[i] / batches);
  }
}

}  // namespace

std::vector<std::string> models_of(const std::vector<NodeSpec>& nodes) {
  std::set<std::string> models;
  for (const NodeSpec& node : nodes) {
    for (const SlotSpec& slot : node.slots) models.insert(slot.model);
  }
  return {models.begin(), models.end()};
}

Result<DeviceSpeeds> DeviceSpeeds::of_words(std::string_view text,
                                            const std::vector<std::string>& models) {
  DeviceSpeeds speeds;
  speeds.text_ = text;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    const std::string_view part = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t equals = std::min(part.find('='), part.size());
    const auto speed = equals < part.size() ? speed_of(part.substr(equals + 1)) : std::nullopt;
    if (!speed || equals == 0)
      return fail(ErrorCode::invalid, fmt::format("'{}' is no device with its speed.", part),
                  std::string(kSpeedsHint));
    for (const std::string& model : models) {
      if (is_model(part.substr(0, equals), model)) speeds.of_all_[model] = *speed;
    }
  }
  for (const std::string& model : models) {
    if (!speeds.of_all_.contains(model)) return not_named(model);
  }
  return speeds;
}

Result<DeviceSpeeds> DeviceSpeeds::of_measured(const ByDevice& measured, std::string_view reference,
                                               const std::vector<std::string>& models) {
  auto base = std::max_element(measured.begin(), measured.end(), [](const auto& a, const auto& b) {
    return sum_of(a.second) < sum_of(b.second);
  });
  if (!reference.empty()) base = find_device(measured, reference);
  if (base == measured.end()) return not_named(reference);
  DeviceSpeeds speeds;
  speeds.text_ = fmt::format("as measured, against {}", base->first);
  for (const std::string& model : models) {
    const auto device = find_device(measured, model);
    if (device == measured.end()) return not_named(model);
    for (const auto& [application, steps] : base->second) {
      const auto here = device->second.find(application);
      if (here == device->second.end()) continue;
      speeds.of_applications_[application.first][application.second][model] = here->second / steps;
    }
  }
  // What was not measured on every device says nothing of the others.
  for (auto& [name, by_slots] : speeds.of_applications_)
    std::erase_if(by_slots, [&](const auto& one) { return one.second.size() < models.size(); });
  std::erase_if(speeds.of_applications_, [](const auto& one) { return one.second.empty(); });
  return speeds;
}

Result<DeviceSpeeds> DeviceSpeeds::of_throughputs(std::string_view json, std::string_view reference,
                                                  const std::vector<std::string>& models) {
  const auto measured = read_throughputs(json);
  if (!measured) return fail(measured.error());
  return of_measured(*measured, reference, models);
}

Result<DeviceSpeeds> DeviceSpeeds::of_profiles(const std::map<std::string, Profiles>& by_device,
                                               std::string_view reference,
                                               const std::vector<std::string>& models) {
  std::set<std::string> names(models.begin(), models.end());
  if (!reference.empty()) names.emplace(reference);
  Devices devices;
  for (const std::string& name : names) {
    const auto device = find_device(by_device, name);
    if (device == by_device.end()) return not_named(name);
    if (std::none_of(devices.begin(), devices.end(),
                     [&](const auto& one) { return one.first == device->first; }))
      devices.emplace_back(device->first, &device->second);
  }
  ByDevice measured;
  for (const auto& [device, profiles] : devices) measured[device];
  for (const auto& [application, profile] : *devices.front().second)
    add_steps(devices, application, measured);
  return of_measured(measured, reference, models);
}

const SpeedByModel* DeviceSpeeds::of(const std::string& application, std::int32_t slots) const {
  const auto measured = of_applications_.find(application);
  if (measured == of_applications_.end()) return of_all_.empty() ? nullptr : &of_all_;
  const auto distance = [&](const auto& one) { return std::abs(one.first - slots); };
  return &std::min_element(measured->second.begin(), measured->second.end(),
                           [&](const auto& a, const auto& b) { return distance(a) < distance(b); })
              ->second;
}

}  // namespace paceline::sim
