#include "wire/agent_protocol.hpp"

#include <limits>
#include <nlohmann/json.hpp>

#include "wire/json.hpp"
#include "wire/json_writer.hpp"
#include "wire/node_json.hpp"
#include "wire/worker_json.hpp"

namespace paceline {
namespace {

constexpr std::size_t kTextBytesMax = 4096;
constexpr std::size_t kClaimsMax = 100'000;
constexpr auto kNumberMax = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
constexpr JsonBounds kBounds{kFrameBytesMax, 32, 4 << 20};

// ---- the word that names a message in its frame ----
constexpr std::string_view word(const Hello*) { return "hello"; }
constexpr std::string_view word(const NodeChanged*) { return "node_changed"; }
constexpr std::string_view word(const WorkerRuns*) { return "worker_runs"; }
constexpr std::string_view word(const WorkerReport*) { return "worker_report"; }
constexpr std::string_view word(const CheckpointSeen*) { return "checkpoint"; }
constexpr std::string_view word(const WorkerGone*) { return "worker_gone"; }
constexpr std::string_view word(const StartWorker*) { return "start_worker"; }
constexpr std::string_view word(const StopWorker*) { return "stop_worker"; }
constexpr std::string_view word(const FreezeWorker*) { return "freeze_worker"; }
constexpr std::string_view word(const ThawWorker*) { return "thaw_worker"; }
constexpr std::string_view word(const ShouldStop*) { return "should_stop"; }
constexpr std::string_view word(const DiscardWorker*) { return "discard_worker"; }
constexpr std::string_view word(const FenceJob*) { return "fence_job"; }

// ---- bodies that are not in worker_json.hpp ----
void write_body(JsonWriter& json, const Hello& hello) {
  write_node(json.key("node"), hello.node);
  json.field("boot_id", hello.boot_id).key("claims").begin_array();
  for (const auto& claim : hello.claims) {
    json.begin_object();
    write_body(json, claim);
    json.end_object();
  }
  json.end_array();
}

void write_body(JsonWriter& json, const NodeChanged& changed) {
  write_node(json.key("node"), changed.node);
}

void write_body(JsonWriter& json, const StartWorker& start) { write_body(json, start.worker); }

void write_body(JsonWriter& json, const StopWorker& stop) {
  write_key(json, stop.key);
  json.field("signal", stop.signal).field("grace_seconds", stop.grace);
}

void write_body(JsonWriter& json, const FreezeWorker& freeze) { write_key(json, freeze.key); }
void write_body(JsonWriter& json, const ThawWorker& thaw) { write_key(json, thaw.key); }
void write_body(JsonWriter& json, const DiscardWorker& discard) { write_key(json, discard.key); }

void write_body(JsonWriter& json, const ShouldStop& stop) {
  write_key(json, stop.key);
  json.field("reason", stop.reason);
}

void write_body(JsonWriter& json, const FenceJob& fence) {
  json.field("job", fence.job.value).field("generation", fence.generation.value);
}

void read_node_into(ObjectReader& reader, NodeSpec& out) {
  const Json* json = reader.require({"node"}).find("node");
  if (json == nullptr) return;
  auto node = read_node(*json);
  if (node)
    out = std::move(*node);
  else
    reader.refuse(std::move(node.error()));
}

void read_claims(ObjectReader& reader, std::vector<Claim>& out) {
  const Json* list = reader.find("claims");
  if (list == nullptr) return;
  if (!list->is_array() || list->size() > kClaimsMax) {
    reader.mismatch("claims", "a list of claims", *list);
    return;
  }
  for (const auto& each : *list) {
    auto read = read_body(each, out.emplace_back());
    if (!read) reader.refuse(std::move(read.error()));
    if (!reader.ok()) return;
  }
}

Result<void> read_body(const Json& json, Hello& hello) {
  ObjectReader reader(json, "hello");
  read_node_into(reader, hello.node);
  reader.text("boot_id", hello.boot_id, kTextBytesMax);
  read_claims(reader, hello.claims);
  return reader.finish();
}

Result<void> read_body(const Json& json, NodeChanged& changed) {
  ObjectReader reader(json, "node_changed");
  read_node_into(reader, changed.node);
  return reader.finish();
}

Result<void> read_body(const Json& json, StartWorker& start) {
  return read_body(json, start.worker);
}

Result<void> read_body(const Json& json, StopWorker& stop) {
  ObjectReader reader(json, "stop_worker");
  read_key(reader, stop.key);
  reader.whole("signal", stop.signal, 1, 64).seconds("grace_seconds", stop.grace);
  return reader.finish();
}

template <class OnlyKey>
Result<void> read_only_key(const Json& json, OnlyKey& message) {
  ObjectReader reader(json, word(&message));
  read_key(reader, message.key);
  return reader.finish();
}

Result<void> read_body(const Json& json, FreezeWorker& freeze) {
  return read_only_key(json, freeze);
}
Result<void> read_body(const Json& json, ThawWorker& thaw) { return read_only_key(json, thaw); }
Result<void> read_body(const Json& json, DiscardWorker& discard) {
  return read_only_key(json, discard);
}

Result<void> read_body(const Json& json, ShouldStop& stop) {
  ObjectReader reader(json, "should_stop");
  read_key(reader, stop.key);
  reader.text("reason", stop.reason, kTextBytesMax);
  return reader.finish();
}

Result<void> read_body(const Json& json, FenceJob& fence) {
  constexpr auto id_max = std::numeric_limits<std::uint32_t>::max();
  ObjectReader reader(json, "fence_job");
  reader.require({"job", "generation"})
      .whole("job", fence.job.value, 0, id_max)
      .whole("generation", fence.generation.value, 0, id_max);
  return reader.finish();
}

// ---- frames ----
template <class Message>
std::string encode_frame(const Frame<Message>& frame) {
  JsonWriter json;
  json.begin_object()
      .field("session", frame.session.value)
      .field("number", frame.number)
      .field("received", frame.received)
      .field("durable", frame.durable);
  if (frame.message) {
    std::visit(
        [&](const auto& message) {
          json.key(word(&message)).begin_object();
          write_body(json, message);
          json.end_object();
        },
        *frame.message);
  }
  return json.end_object().take();
}

template <class Message>
class FrameReader {
 public:
  explicit FrameReader(const Json& json) : reader_(json, "a frame") {}

  Result<Frame<Message>> read() {
    reader_.require({"session"})
        .whole("session", frame_.session.value, 0, kNumberMax)
        .whole("number", frame_.number, 0, kNumberMax)
        .whole("received", frame_.received, 0, kNumberMax)
        .whole("durable", frame_.durable, 0, kNumberMax);
    read_any(static_cast<const Message*>(nullptr));
    if (auto read = reader_.finish(); !read) return fail(std::move(read.error()));
    if (frame_.message.has_value() != (frame_.number != 0)) {
      return fail(ErrorCode::invalid, "A frame has a number if and only if it has one message.");
    }
    return std::move(frame_);
  }

 private:
  template <class... Kinds>
  void read_any(const std::variant<Kinds...>*) {
    (read_one<Kinds>(), ...);
  }

  template <class Kind>
  void read_one() {
    const Json* body = reader_.find(word(static_cast<const Kind*>(nullptr)));
    if (body == nullptr) return;
    Kind kind;
    if (auto read = read_body(*body, kind); !read) reader_.refuse(std::move(read.error()));
    if (frame_.message)
      reader_.refuse({ErrorCode::invalid, "A frame has at most one message.", {}, {}});
    frame_.message = std::move(kind);
  }

  ObjectReader reader_;
  Frame<Message> frame_;
};

template <class Message>
Result<Frame<Message>> decode_frame(std::string_view text) {
  auto json = parse_json(text, kBounds);
  if (!json) return fail(std::move(json.error()));
  return FrameReader<Message>(*json).read();
}

}  // namespace

std::string encode(const AgentFrame& frame) { return encode_frame(frame); }
std::string encode(const ServerFrame& frame) { return encode_frame(frame); }

Result<AgentFrame> decode_agent_frame(std::string_view text) {
  return decode_frame<AgentMessage>(text);
}
Result<ServerFrame> decode_server_frame(std::string_view text) {
  return decode_frame<ServerMessage>(text);
}

}  // namespace paceline
