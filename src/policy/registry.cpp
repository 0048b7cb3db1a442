#include "policy/registry.hpp"

#include <fmt/format.h>

#include "base/nearest.hpp"
#include "policy/afs.hpp"
#include "policy/deadline.hpp"
#include "policy/elastic_fifo.hpp"
#include "policy/elastic_las.hpp"
#include "policy/elastic_srtf.hpp"
#include "policy/fair.hpp"
#include "policy/ffdl.hpp"
#include "policy/fifo.hpp"
#include "policy/las.hpp"
#include "policy/patient.hpp"
#include "policy/round_robin.hpp"
#include "policy/sjf.hpp"
#include "policy/srtf.hpp"

namespace paceline {
namespace {

constexpr std::size_t kScriptNameMax = 64;

std::string percent(double part) { return fmt::format("{:g}%", 100 * part); }

bool names_script(std::string_view name) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz0123456789-";
  return !name.empty() && name.size() <= kScriptNameMax &&
         name.find_first_not_of(kLetters) == std::string_view::npos;
}

}  // namespace

PolicyRegistry::PolicyRegistry(const ScriptEngine* scripts, const Patience& patience)
    : scripts_(scripts), patience_(patience), policies_{Fifo::info(),       ElasticFifo::info(),
                                                        RoundRobin::info(), Sjf::info(),
                                                        Srtf::info(),       ElasticSrtf::info(),
                                                        Las::info(),        ElasticLas::info(),
                                                        Afs::info(),        Ffdl::info(),
                                                        Deadline::info(),   Fair::info()} {
  const LossLimits limits;
  for (PolicyInfo& info : policies_) {
    info.defaults.emplace(kPatienceWord, patience_.text());
    info.defaults.emplace(kStopLossWord, percent(limits.stops));
    info.defaults.emplace(kResizeLossWord, percent(limits.resizes));
    info.defaults.emplace(kMinRunWord, fmt::format("{:g}s", to_seconds(limits.min_run)));
  }
}

Result<LossLimits> PolicyRegistry::limits_of(const Parameters& parameters) {
  LossLimits limits;
  const auto read = [&](std::string_view word, auto& limit, auto parse) -> Result<void> {
    const auto given = parameters.find(std::string(word));
    if (given == parameters.end()) return {};
    auto parsed = parse(given->second);
    if (!parsed)
      return fail(ErrorCode::invalid, fmt::format("{}: {}", word, parsed.error().message),
                  parsed.error().hint);
    limit = *parsed;
    return {};
  };
  if (auto ok = read(kStopLossWord, limits.stops, parse_loss_limit); !ok) return fail(ok.error());
  if (auto ok = read(kResizeLossWord, limits.resizes, parse_loss_limit); !ok)
    return fail(ok.error());
  if (auto ok = read(kMinRunWord, limits.min_run, parse_min_run); !ok) return fail(ok.error());
  return limits;
}

Result<Patience> PolicyRegistry::patience_of(const Parameters& parameters) const {
  const auto given = parameters.find(std::string(kPatienceWord));
  return given == parameters.end() ? Result<Patience>(patience_) : Patience::parse(given->second);
}

Result<const PolicyInfo*> PolicyRegistry::find(std::string_view name) const {
  std::vector<std::string_view> names;
  for (const auto& info : policies_) {
    if (info.name == name) return &info;
    names.push_back(info.name);
  }
  const auto near = nearest(name, names);
  return fail(ErrorCode::not_found, fmt::format("There is no policy '{}'.", name),
              near ? fmt::format("Did you mean '{}'? 'paceline policy list' shows all.", *near)
                   : "'paceline policy list' shows all.");
}

Result<std::unique_ptr<Policy>> PolicyRegistry::make(std::string_view name,
                                                     const Parameters& parameters) const {
  auto info = find(name);
  if (!info) return fail(info.error());
  Parameters filled = (*info)->defaults;
  for (const auto& [key, value] : parameters) {
    if (!filled.contains(key)) {
      return fail(ErrorCode::invalid,
                  fmt::format("The policy {} has no parameter '{}'.", name, key),
                  fmt::format("'paceline policy show {}' names its parameters.", name));
    }
    filled[key] = value;
  }
  const auto patience = patience_of(filled);
  if (!patience) return fail(patience.error());
  const auto limits = limits_of(filled);
  if (!limits) return fail(limits.error());
  auto made = (*info)->make(filled);
  if (!made) return made;
  const bool stays = !(*info)->elastic && !(*info)->preempts;
  if (!patience->is_off() && !(*made)->keeps_line()) {
    const Patient::Traits traits{(*info)->elastic, true, stays};
    made = std::make_unique<Patient>(std::move(*made), *patience, traits);
  }
  (*made)->limit_losses(*limits);
  return made;
}

Result<std::unique_ptr<Policy>> PolicyRegistry::load_patient(std::string_view name,
                                                             std::string_view text,
                                                             const Parameters& parameters) const {
  auto made = load(name, text, parameters);
  if (!made) return fail(made.error());
  std::unique_ptr<Policy> policy = std::move(*made);
  const auto patience = patience_of(parameters);
  if (!patience->is_off())
    policy = std::make_unique<Patient>(std::move(policy), *patience, Patient::Traits{});
  policy->limit_losses(*limits_of(parameters));
  return policy;
}

Result<std::unique_ptr<ScriptPolicy>> PolicyRegistry::load(std::string_view name,
                                                           std::string_view text,
                                                           const Parameters& parameters) const {
  if (!names_script(name)) {
    return fail(ErrorCode::invalid, fmt::format("'{}' can't be the name of a policy.", name),
                "The file's name without its ending is the policy's: use 1 to 64 of a-z, 0-9 "
                "and '-'.");
  }
  if (find(name)) {
    return fail(ErrorCode::conflict, fmt::format("The policy {} is built in.", name),
                "Give your file another name.");
  }
  if (text.size() > kScriptBytesMax) {
    return fail(ErrorCode::too_large,
                fmt::format("The policy {} has {} bytes; {} KiB are the most.", name, text.size(),
                            kScriptBytesMax >> 10));
  }
  if (!scripts_) return fail(ErrorCode::unavailable, "Nothing here runs policies of your own.");
  if (auto patience = patience_of(parameters); !patience) return fail(patience.error());
  if (auto limits = limits_of(parameters); !limits) return fail(limits.error());
  Parameters own = parameters;
  for (const auto word : {kPatienceWord, kStopLossWord, kResizeLossWord, kMinRunWord})
    own.erase(std::string(word));
  return scripts_->load(name, text, own);
}

}  // namespace paceline
