// A machine with slots, as its agent describes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.hpp"
#include "model/gang_ports.hpp"
#include "model/ids.hpp"

namespace paceline {

enum class SlotKind { cpu, gpu, mig };

std::string_view to_string(SlotKind kind);

// What is handed out: one GPU, one MIG slice, or one CPU slot.
struct SlotSpec {
  SlotKind kind = SlotKind::cpu;
  std::string model;               // "cpu", or the device's product name
  std::string uuid;                // empty for CPU slots
  std::uint64_t memory_bytes = 0;  // device memory; 0 for CPU slots
  bool usable = true;  // false: a foreign process or another server uses it; shown, never leased
  std::string note;    // why it is not usable, or what else there is to know of it; else empty
  std::int32_t island = 0;  // slots of one island reach each other over fast links (NVLink)
  std::int32_t numa = 0;    // NUMA domain of the node

  friend bool operator==(const SlotSpec&, const SlotSpec&) = default;
};

// A node that starts nothing for now: a start lacked what any takes (space, descriptors, processes), or
// the node is unhealthy. What runs there goes on.
struct Refusal {
  std::string why;  // one sentence, for everybody: names nothing of a job; at most kRefusalWhyMax
  Time until;       // by the node's own clock; then it tries again
  bool unhealthy = false;  // it is looked at again and again, and `until` is of no account

  friend bool operator==(const Refusal&, const Refusal&) = default;
};
inline constexpr std::size_t kRefusalWhyMax = 1024;
inline constexpr std::size_t kMachineMax = 64;
inline constexpr std::size_t kReachNonceMax = 64;
inline constexpr std::size_t kNodeSlotsMax = 1024;
inline constexpr std::size_t kStrangersMax = 64;
inline constexpr Duration kUsualLease = std::chrono::minutes{15};
inline constexpr Duration kLeaseMin = std::chrono::seconds{10};
inline constexpr Duration kLeaseMax = std::chrono::hours{24 * 366};

struct NodeSpec {
  std::string name;     // host name; unique in a cluster
  std::string address;  // where other nodes reach its workers
  std::string rack;     // empty: unknown
  double cpus = 0;
  std::uint64_t memory_bytes = 0;
  std::vector<SlotSpec> slots;
  std::string network_switch{};  // the one above the rack; empty: unknown
  std::map<std::string, std::string> labels{};
  std::optional<Refusal> refusal{};
  // Tells machines of one name apart, and stays over reboots; at most kMachineMax; empty: unknown.
  std::string machine{};
  std::optional<PortRange> ports{};  // that gangs may have; nothing: kUsualPorts
  // The one whose jobs it serves, by login name: an agent that isn't root's can start no other's.
  // Empty: everybody's.
  std::string only_user{};
  // Users who have no account there, as was found when a job of theirs was to start; sorted, at most
  // kStrangersMax.
  std::vector<std::string> strangers{};
  // So long its workers run on after the machine last heard of a server; then it ends them itself,
  // except those of jobs that continue (OnDisconnect). Nothing: all run on.
  std::optional<Duration> lease{};
  // Where its agent says who it is, at `address`, and what it says: other nodes try by it whether they
  // reach this one (GangPeer). No secret; at most kReachNonceMax. 0: there is none.
  std::uint32_t reach_port = 0;
  std::string reach_nonce{};
  bool keeps = false;  // its agent sends checkpoints to the server when it is asked to

  friend bool operator==(const NodeSpec&, const NodeSpec&) = default;
};

// An address that means each machine itself, so that no other reaches anybody by it.
bool is_loopback(std::string_view address);
// Some users' jobs it does not serve.
bool is_choosy(const NodeSpec& node);
// It serves jobs of this user.
bool serves(const NodeSpec& node, const std::string& user);

}  // namespace paceline
