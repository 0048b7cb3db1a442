#include "app/machine.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <system_error>
#include <utility>

namespace paceline {
namespace {

constexpr auto kDevicesEvery = std::chrono::seconds{10};

// Where the Python package lies: beside the installed program, or in the folder it was built in.
std::string runtime_folder() {
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  for (const char* place : {"../lib/paceline/python", "runtime/python"}) {
    const auto folder = (program / place).lexically_normal();
    if (std::filesystem::exists(folder / "paceline/__init__.py", error)) return folder.string();
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Machine>> Machine::open(boost::asio::io_context& io, Clock& clock,
                                               const MachineOptions& asked,
                                               agent::HostOptions options) {
  options.worker_processes = asked.limits.worker_processes;
  options.logs_per_user = asked.limits.logs_per_user;
  options.logs_per_job = asked.limits.logs_per_job;
  options.log_at_end = asked.limits.log_at_end;
  options.checkpoint_entries = asked.limits.checkpoint_entries;
  if (asked.slots) options.cpu_slots = static_cast<std::uint32_t>(*asked.slots);
  options.memory_bytes = asked.memory_bytes;
  if (options.node_name.empty()) options.node_name = asked.node;
  options.rack = asked.rack;
  options.network_switch = asked.network_switch;
  options.labels = asked.labels;
  options.health_check = asked.health_check;
  options.runtime = runtime_folder();
  auto host = agent::LinuxHost::open(io, clock, std::move(options));
  if (!host) return fail(std::move(host.error()));
  return std::unique_ptr<Machine>(new Machine(io, std::move(*host)));
}

void Machine::start(Pump& pump) {
  pump.add([this](Time now) {
    agent_.step(now);
    return agent_.next_due();
  });
  agent_.on_wake([&pump] { pump.wake(); });
  host_->on_devices_changed([this] { agent_.devices_changed(); });
  agent_.start();
  watch_devices();
}

void Machine::watch_devices() {
  devices_timer_.after(kDevicesEvery, [this] {
    agent_.devices_changed();
    watch_devices();
  });
}

std::string Machine::notes() const {
  std::string text;
  const NodeSpec node = host_->describe();
  if (node.refusal) text += fmt::format("  starts nothing yet: {}\n", node.refusal->why);
  for (const SlotSpec& slot : node.slots) {
    if (!slot.usable)
      text += fmt::format("  not leased: {} {}: {}\n", slot.model, slot.uuid, slot.note);
  }
  for (const auto& what : host_->not_enforced()) text += fmt::format("  not enforced: {}\n", what);
  return text;
}

std::string describe_slots(const NodeSpec& node) {
  std::map<std::string, std::size_t> models;
  for (const SlotSpec& slot : node.slots)
    ++models[slot.kind == SlotKind::cpu ? "CPU slot" : slot.model];
  std::string text;
  for (const auto& [model, n] : models)
    text += fmt::format("{}{}", text.empty() ? "" : ", ", count(n, model));
  return fmt::format("{} ({:g} cores, {} GiB of memory)", text.empty() ? "no slots" : text,
                     node.cpus, node.memory_bytes >> 30);
}

std::string count(std::size_t n, std::string_view noun) {
  return fmt::format("{} {}{}", n, noun, n == 1 ? "" : "s");
}

}  // namespace paceline
