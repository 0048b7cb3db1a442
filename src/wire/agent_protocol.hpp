// What server and agents say to each other. Messages travel in frames; the frames of one connection
// are a session. A network may lose, double, delay and reorder frames: numbers make the messages of
// a session arrive once and in order (message_stream.hpp). A new session begins with Hello and owes
// nothing to the one before: server and agent compare all that they know and go on.
//
//   std::string line = encode(frame);              // JSON, one line
//   Result<AgentFrame> read = decode_agent_frame(line);
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/id.hpp"
#include "base/result.hpp"
#include "base/time.hpp"
#include "model/node.hpp"
#include "model/worker.hpp"

namespace paceline {

// A connection. The transport numbers the connections of one server process upwards and hands the
// same number to both ends; frames of another session are dropped.
using Session = Id<struct SessionTag, std::uint64_t>;

// ---- agent → server ----

// The first message of a session.
struct Hello {
  NodeSpec node;
  std::string boot_id;
  std::vector<Claim> claims;  // all there are, `gone` unset: the end of a worker follows as
                              // WorkerGone, after its last report
  friend bool operator==(const Hello&, const Hello&) = default;
};
struct NodeChanged {
  NodeSpec node;
  friend bool operator==(const NodeChanged&, const NodeChanged&) = default;
};

using AgentMessage = std::variant<Hello, NodeChanged, WorkerRuns, WorkerReport, CheckpointSeen,
                                  WorkerGone, WorkerWarning, WorkerPlaced, ModelSeen>;

// ---- server → agent ----

// Starts the worker unless it has a claim already.
struct StartWorker {
  WorkerLaunch worker;
  friend bool operator==(const StartWorker&, const StartWorker&) = default;
};
// Notice now, kill after `grace` (what is left of it when this is first sent). A later, shorter one
// counts, a longer one does not. No grace: kill at once.
struct StopWorker {
  ProcessKey key;
  std::int32_t signal = 15;
  Duration grace{};
  friend bool operator==(const StopWorker&, const StopWorker&) = default;
};
struct FreezeWorker {
  ProcessKey key;
  friend bool operator==(const FreezeWorker&, const FreezeWorker&) = default;
};
struct ThawWorker {
  ProcessKey key;
  friend bool operator==(const ThawWorker&, const ThawWorker&) = default;
};
struct ShouldStop {
  ProcessKey key;
  std::string reason;
  friend bool operator==(const ShouldStop&, const ShouldStop&) = default;
};
// The end of the worker is in the journal: its claim may be forgotten.
struct DiscardWorker {
  ProcessKey key;
  friend bool operator==(const DiscardWorker&, const DiscardWorker&) = default;
};
// Every process of the job that was born up to this generation is killed, and a later start of one
// is refused.
struct FenceJob {
  JobId job;
  Generation generation;
  friend bool operator==(const FenceJob&, const FenceJob&) = default;
};

// From now on the worker may run for so long, time in which it is frozen aside.
struct LimitWorker {
  ProcessKey key;
  RunLimit limit;
  friend bool operator==(const LimitWorker&, const LimitWorker&) = default;
};

// The process goes on in another generation than it was born into. Said once in each session.
struct EnrolWorker {
  ProcessKey key;
  Membership membership;
  GangPlace place;
  friend bool operator==(const EnrolWorker&, const EnrolWorker&) = default;
};

// The gang goes on as this generation, without the process: it is told so, and killed after `grace`.
struct LeaveGang {
  ProcessKey key;
  Generation generation;
  Duration grace{};
  friend bool operator==(const LeaveGang&, const LeaveGang&) = default;
};

// The checkpoint is to be sent to the server (POST /v1/checkpoints), if it lies on this machine alone. Asked
// again in each session, until that is answered.
struct KeepCheckpoint {
  WantedCheckpoint checkpoint;
  friend bool operator==(const KeepCheckpoint&, const KeepCheckpoint&) = default;
};

using ServerMessage =
    std::variant<StartWorker, StopWorker, FreezeWorker, ThawWorker, ShouldStop, DiscardWorker,
                 FenceJob, LimitWorker, EnrolWorker, LeaveGang, KeepCheckpoint>;

// ---- frames ----

template <class Message>
struct Frame {
  Session session;
  std::uint64_t number = 0;    // of the message, from 1; 0: there is none
  std::uint64_t received = 0;  // the sender of this frame took every message up to this number
  std::uint64_t durable =
      0;  // from the server: what every message up to this number told is in the journal
  std::optional<Message> message;
  // From an agent: what its clock showed when it sent this. The points in time that it tells are by
  // that clock: the server learns from them how long ago something was, and compares no clocks.
  Time clock = {};
  friend bool operator==(const Frame&, const Frame&) = default;
};

using AgentFrame = Frame<AgentMessage>;    // from an agent
using ServerFrame = Frame<ServerMessage>;  // from the server

inline constexpr std::size_t kFrameBytesMax = 16 << 20;
inline constexpr Time kTimeToldMax = time_from_us(std::int64_t{1} << 60);  // and as far below 0

std::string encode(const AgentFrame& frame);
std::string encode(const ServerFrame& frame);

// What is read is within bounds (agent_bounds.hpp). Errors: data (what is wrong), too_large, invalid
// (of what describes a node: model/label.hpp).
Result<AgentFrame> decode_agent_frame(std::string_view text);
Result<ServerFrame> decode_server_frame(std::string_view text);

}  // namespace paceline
