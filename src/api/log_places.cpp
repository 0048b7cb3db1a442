#include "api/log_places.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <fstream>
#include <system_error>
#include <utility>

#include "files/log_names.hpp"

namespace paceline {
namespace {

constexpr std::size_t kNodesMax = 100'000;  // of a job

// Valid until the next step.
std::string_view name_of(const State& state, NodeId id) {
  const Node* node = state.find_node(id);
  return node == nullptr ? std::string_view() : node->spec.name;
}

}  // namespace

LogPlaces::LogPlaces(Controller& controller, std::filesystem::path directory, std::string own_node)
    : controller_(controller), directory_(std::move(directory)), own_node_(std::move(own_node)) {
  for (const auto& key : controller.state().active()) look(controller.state().job(key.job));
  commits_ = controller.on_commit(
      [this](std::span<const Entry>, std::span<const JobId> touched) { look(touched); });
}

void LogPlaces::look(std::span<const JobId> touched) {
  for (const JobId id : touched) {
    const Job* job = controller_.state().find_job(id);
    if (job == nullptr || is_over(job->state))
      places_.erase(id);
    else
      look(*job);
  }
}

void LogPlaces::look(const Job& job) {
  if (!job.current && !job.forming) return;
  const auto [found, is_new] = places_.try_emplace(job.id);
  Place& place = found->second;
  if (is_new) place.nodes = noted(job.id);
  place.written.clear();
  for (const auto* gang : {&job.current, &job.forming})
    if (*gang) look(job, **gang, place);
}

void LogPlaces::look(const Job& job, const Gang& gang, Place& place) {
  for (std::int32_t rank = 0; rank < gang.size(); ++rank) {
    const Worker& worker = gang.workers[static_cast<std::size_t>(rank)];
    const auto node = name_of(controller_.state(), worker.seat.node);
    if (node != own_node_)
      note(job, node, place);
    else if (worker.state == WorkerState::running)
      place.written.insert(gang.process(job.id, rank).number);
  }
}

// What can't be kept is known until the job is over.
void LogPlaces::note(const Job& job, std::string_view node, Place& place) {
  if (node.empty() || place.nodes.size() >= kNodesMax || place.nodes.contains(node)) return;
  place.nodes.emplace(node);
  const auto file = file_of(job.id);
  std::error_code error;
  for (const auto& folder : {directory_ / "logs", file.parent_path()})
    if (std::filesystem::create_directory(folder, error))
      std::filesystem::permissions(folder, std::filesystem::perms::owner_all, error);
  std::ofstream out(file, std::ios::app);
  if (!(out << node << '\n' << std::flush))
    spdlog::warn("Where the logs of job {} come from can't be noted in '{}'.", job.id.value,
                 file.string());
}

std::filesystem::path LogPlaces::file_of(JobId job) const {
  return directory_ / "logs" / fmt::format("{}", job.value) / "nodes";
}

LogPlaces::Names LogPlaces::noted(JobId job) const {
  Names nodes;
  std::ifstream in(file_of(job));
  for (std::string node; nodes.size() < kNodesMax && std::getline(in, node);) nodes.insert(node);
  return nodes;
}

LogPlaces::Names LogPlaces::nodes(JobId job) const {
  const auto place = places_.find(job);
  return place == places_.end() ? noted(job) : place->second.nodes;
}

bool LogPlaces::is_up(std::string_view node) const {
  const Node* found = controller_.state().find_node(node);
  return found != nullptr && found->up;
}

LogRight LogPlaces::right(std::string_view node, const LogName& log) const {
  const Job* job = controller_.state().find_job(log.job);
  const auto uid = job == nullptr ? static_cast<std::uint32_t>(::geteuid()) : job->spec->uid;
  const bool over = job == nullptr || is_over(job->state);
  const auto place = places_.find(log.job);
  if (place == places_.end())
    return {noted(log.job).contains(node) ? LogState::taken : LogState::unwanted, uid, over};
  if (!place->second.nodes.contains(node)) return {LogState::unwanted, uid, over};
  const bool written_here = place->second.written.contains(process_of(log.number));
  return {written_here ? LogState::later : LogState::taken, uid, over};
}

std::optional<std::string> LogPlaces::node_of(const ProcessKey& process) const {
  const Job* job = controller_.state().find_job(process.job);
  if (job == nullptr) return std::nullopt;
  for (const auto* gang : {&job->current, &job->forming}) {
    const auto rank = *gang ? (*gang)->rank_of(process) : std::nullopt;
    if (!rank) continue;
    const Worker& worker = (*gang)->workers[static_cast<std::size_t>(*rank)];
    return std::string(name_of(controller_.state(), worker.seat.node));
  }
  return std::nullopt;
}

}  // namespace paceline
