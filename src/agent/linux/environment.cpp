#include "agent/linux/environment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>

namespace paceline::agent {
namespace {

using Environment = std::map<std::string, std::string>;

constexpr std::string_view kLaunchers[] = {
    "torchrun", "torch.distributed", "accelerate", "deepspeed", "mpirun", "horovodrun", "mpiexec"};

std::string join(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ",") + part;
  return text;
}

std::string address_of(const WorkerLaunch& worker, std::size_t rank) {
  return rank < worker.addresses.size() ? worker.addresses[rank] : "127.0.0.1";
}

std::uint32_t own_port(const WorkerFacts& facts, std::int32_t rank) {
  return facts.port + kFixedPorts + static_cast<std::uint32_t>(rank);
}

void add_gang(JobId job, const Membership& membership, const GangPlace& place, Environment& out) {
  out["MASTER_ADDR"] = place.address;
  out["MASTER_PORT"] = std::to_string(place.port);
  out["RANK"] = out["ROLE_RANK"] = out["PACELINE_RANK"] = std::to_string(membership.rank);
  out["WORLD_SIZE"] = out["ROLE_WORLD_SIZE"] = out["PACELINE_WORLD_SIZE"] =
      std::to_string(membership.world_size);
  out["LOCAL_RANK"] = std::to_string(place.local_rank);
  out["LOCAL_WORLD_SIZE"] = std::to_string(place.local_world_size);
  out["GROUP_RANK"] = std::to_string(place.group_rank);
  out["GROUP_WORLD_SIZE"] = std::to_string(place.group_world_size);
  out["TORCHELASTIC_RUN_ID"] = fmt::format("paceline-{}", job.value);
  out["PACELINE_GENERATION"] = std::to_string(membership.generation.value);
}

void add_torchrun(const WorkerLaunch& worker, const WorkerFacts& facts, Environment& out) {
  const GangPlace starts{worker.local_rank,       worker.local_world_size, worker.group_rank,
                         worker.group_world_size, address_of(worker, 0),   facts.port};
  add_gang(worker.key.job, {worker.key.born, worker.rank, worker.world_size},
           worker.joins.value_or(starts), out);
  out["ROLE_NAME"] = "default";
  out["TORCHELASTIC_RESTART_COUNT"] = std::to_string(worker.restart_count);
  out["TORCHELASTIC_MAX_RESTARTS"] = std::to_string(worker.retries);
  out["TORCHELASTIC_USE_AGENT_STORE"] = "False";
  // A torchrun that the script starts takes its port from here; its own default is the same for
  // every job of a machine.
  if (worker.world_size <= kTfWorkersMax)
    out.try_emplace("PET_MASTER_PORT", std::to_string(own_port(facts, worker.rank)));
}

void add_tensorflow(const WorkerLaunch& worker, const WorkerFacts& facts, Environment& out) {
  if (worker.world_size > kTfWorkersMax) return;
  std::string workers;
  for (std::int32_t rank = 0; rank < worker.world_size; ++rank)
    workers +=
        fmt::format("{}\"{}:{}\"", rank == 0 ? "" : ", ",
                    address_of(worker, static_cast<std::size_t>(rank)), own_port(facts, rank));
  out["TF_CONFIG"] =
      fmt::format(R"({{"cluster": {{"worker": [{}]}}, "task": {{"type": "worker", "index": {}}}}})",
                  workers, worker.rank);
}

void add_jax(const WorkerLaunch& worker, const WorkerFacts& facts, Environment& out) {
  out["JAX_COORDINATOR_ADDRESS"] = fmt::format("{}:{}", address_of(worker, 0), facts.port + 1);
  out["JAX_NUM_PROCESSES"] = std::to_string(worker.world_size);
  out["JAX_PROCESS_ID"] = std::to_string(worker.rank);
}

struct Machine {
  std::string address;
  std::int64_t slots = 0;
};

// Those of the gang, by rank, with how many slots it has on each.
std::vector<Machine> machines_of(const WorkerLaunch& worker) {
  const auto ranks = static_cast<std::size_t>(worker.world_size);
  std::vector<Machine> machines;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    auto address = address_of(worker, rank);
    if (machines.empty() || machines.back().address != address)
      machines.push_back({std::move(address)});
    machines.back().slots += worker.slots_per_worker;
  }
  return machines;
}

// As mpirun --host and horovodrun -H take them: "10.0.0.1:2,10.0.0.2:2".
std::string hosts_of(const WorkerLaunch& worker) {
  std::vector<std::string> parts;
  for (const auto& [address, slots] : machines_of(worker)) {
    const bool v6 = address.find(':') != std::string::npos;
    parts.push_back(fmt::format("{}{}{}:{}", v6 ? "[" : "", address, v6 ? "]" : "", slots));
  }
  return join(parts);
}

void add_paceline(const WorkerLaunch& worker, const WorkerFacts& facts, Environment& out) {
  std::vector<std::string> slots;
  for (const std::uint32_t slot : worker.slots) slots.push_back(std::to_string(slot));
  out["PACELINE_JOB_ID"] = std::to_string(worker.key.job.value);
  out["PACELINE_JOB_NAME"] = worker.job_name;
  out["PACELINE_ATTEMPT"] = std::to_string(worker.attempt);
  out.try_emplace("PACELINE_RESIZE", "in-place");
  out.erase("PACELINE_JOINS");
  if (worker.joins) out["PACELINE_JOINS"] = "1";
  out["PACELINE_SLOTS"] = join(slots);
  out["PACELINE_HOSTS"] = hosts_of(worker);
  out.erase("PACELINE_HOSTFILE");
  if (!facts.hostfile.empty()) out["PACELINE_HOSTFILE"] = facts.hostfile;
  out["PACELINE_SLOTS_PER_WORKER"] = std::to_string(worker.slots_per_worker);
  out["PACELINE_SOCKET"] = facts.socket;
  out["PACELINE_DIR"] = facts.server_directory;
  out.erase("PACELINE_CHECKPOINT");
  if (!worker.checkpoint.empty()) out["PACELINE_CHECKPOINT"] = worker.checkpoint;
  const std::size_t equals = facts.marker.find('=');
  out[facts.marker.substr(0, equals)] = facts.marker.substr(equals + 1);
}

// JAX takes every device that it is shown, PyTorch the one that the script names by LOCAL_RANK.
void add_devices(const WorkerLaunch& worker, const WorkerFacts& facts, Environment& out) {
  out.erase("PACELINE_DEVICES");
  if (facts.slot_kind == SlotKind::cpu && !facts.machine_has_gpus) return;
  const std::string visible = join(facts.visible_devices);
  out["CUDA_VISIBLE_DEVICES"] = visible;
  out["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID";
  out["NVIDIA_VISIBLE_DEVICES"] = visible.empty() ? "void" : visible;
  out["PACELINE_DEVICES"] = join(facts.devices);
  out.erase("JAX_LOCAL_DEVICE_IDS");
  if (facts.visible_devices.size() > facts.devices.size())
    out["JAX_LOCAL_DEVICE_IDS"] = std::to_string(worker.local_rank);
}

// The status listener is on this machine: a proxy of the owner's shell must not get its posts.
void bypass_proxy(Environment& out) {
  const bool proxied = out.contains("http_proxy") || out.contains("HTTP_PROXY");
  for (const char* name : {"no_proxy", "NO_PROXY"}) {
    if (!proxied && !out.contains(name)) continue;
    std::string& list = out[name];
    if (list.find("127.0.0.1") == std::string::npos)
      list += list.empty() ? "127.0.0.1" : ",127.0.0.1";
  }
}

void add_trainer_status(const WorkerFacts& facts, Environment& out) {
  for (const char* name : {"KUBEFLOW_TRAINER_SERVER_URL", "KUBEFLOW_TRAINER_SERVER_TOKEN",
                           "KUBEFLOW_TRAINER_SERVER_CA_CERT"})
    out.erase(name);
  if (facts.status_url.empty()) return;
  out["KUBEFLOW_TRAINER_SERVER_URL"] = facts.status_url;
  out["KUBEFLOW_TRAINER_SERVER_TOKEN"] = facts.status_token;
  bypass_proxy(out);
}

bool starts_launcher(const LaunchSpec& launch) {
  return std::any_of(launch.command.begin(), launch.command.end(), [](const std::string& argument) {
    return std::any_of(std::begin(kLaunchers), std::end(kLaunchers), [&](std::string_view word) {
      return argument.find(word) != std::string::npos;
    });
  });
}

// One thread per CPU slot: more only fight for the cores of the neighbours. A launcher starts one
// process per slot.
void add_defaults(const WorkerLaunch& worker, const WorkerFacts& facts, Environment& out) {
  const bool one_thread = worker.slots_per_worker <= 1 || starts_launcher(worker.launch);
  if (facts.slot_kind == SlotKind::cpu)
    out.try_emplace("OMP_NUM_THREADS", one_thread ? "1" : std::to_string(worker.slots_per_worker));
  out.try_emplace("PYTHONUNBUFFERED", "1");
  if (facts.runtime.empty()) return;
  std::string& path = out["PYTHONPATH"];
  path += (path.empty() ? "" : ":") + facts.runtime;
  out.try_emplace("PATH", "/usr/local/bin:/usr/bin:/bin");
  if (worker.pty) out.try_emplace("TERM", "xterm-256color");
  if (worker.user.empty()) return;
  out.try_emplace("USER", worker.user);
  out.try_emplace("LOGNAME", worker.user);
}

}  // namespace

std::map<std::string, std::string> gang_environment(JobId job, const Membership& membership,
                                                    const GangPlace& place,
                                                    const std::string& secret) {
  Environment out;
  add_gang(job, membership, place, out);
  if (!secret.empty()) out[kGangSecret] = secret;
  return out;
}

std::string hostfile_of(const WorkerLaunch& worker) {
  std::string lines;
  for (const auto& [address, slots] : machines_of(worker))
    lines += fmt::format("{} slots={}\n", address, slots);
  return lines;
}

std::string gang_secret(const std::vector<std::string>& environment) {
  const auto start = kGangSecret + "=";
  const auto found = std::ranges::find_if(
      environment, [&](const std::string& entry) { return entry.starts_with(start); });
  return found == environment.end() ? std::string() : found->substr(start.size());
}

std::vector<std::string> build_environment(const WorkerLaunch& worker, const WorkerFacts& facts) {
  Environment out = worker.launch.environment;
  add_torchrun(worker, facts, out);
  add_tensorflow(worker, facts, out);
  add_jax(worker, facts, out);
  add_paceline(worker, facts, out);
  add_devices(worker, facts, out);
  add_trainer_status(facts, out);
  add_defaults(worker, facts, out);
  std::vector<std::string> entries;
  entries.reserve(out.size());
  for (const auto& [name, value] : out) entries.push_back(name + "=" + value);
  return entries;
}

}  // namespace paceline::agent
