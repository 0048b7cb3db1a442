#include "wire/node_json.hpp"

#include <array>
#include <limits>
#include <nlohmann/json.hpp>

namespace paceline {
namespace {

constexpr std::size_t kTextBytesMax = 1024;
constexpr double kCpusMax = 1e6;
constexpr auto kBytesMax = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
constexpr std::array kSlotKinds = {SlotKind::cpu, SlotKind::gpu, SlotKind::mig};

Result<SlotKind> parse_slot_kind(std::string_view text) {
  for (const SlotKind kind : kSlotKinds) {
    if (to_string(kind) == text) return kind;
  }
  return fail(ErrorCode::invalid, "A slot is of kind cpu, gpu or mig.");
}

Result<SlotSpec> read_slot(const Json& json) {
  SlotSpec slot;
  std::string kind(to_string(slot.kind));
  ObjectReader reader(json, "a slot");
  reader.text("kind", kind, kTextBytesMax)
      .text("model", slot.model, kTextBytesMax)
      .text("uuid", slot.uuid, kTextBytesMax)
      .whole("memory_bytes", slot.memory_bytes, 0, kBytesMax)
      .flag("usable", slot.usable)
      .text("note", slot.note, kTextBytesMax);
  if (auto read = reader.finish(); !read) return fail(std::move(read.error()));
  auto parsed = parse_slot_kind(kind);
  if (!parsed) return fail(std::move(parsed.error()));
  slot.kind = *parsed;
  return slot;
}

void read_slots(ObjectReader& reader, std::vector<SlotSpec>& slots) {
  const Json* list = reader.find("slots");
  if (list == nullptr) return;
  if (!list->is_array() || list->size() > kNodeSlotsMax) {
    reader.mismatch("slots", "a list of slots", *list);
    return;
  }
  for (const auto& each : *list) {
    auto slot = read_slot(each);
    if (!slot) reader.refuse(std::move(slot.error()));
    if (!reader.ok()) return;
    slots.push_back(std::move(*slot));
  }
}

void write_slot(JsonWriter& json, const SlotSpec& slot) {
  json.begin_object()
      .field("kind", to_string(slot.kind))
      .field("model", slot.model)
      .field("uuid", slot.uuid)
      .field("memory_bytes", slot.memory_bytes)
      .field("usable", slot.usable)
      .field("note", slot.note)
      .end_object();
}

}  // namespace

Result<NodeSpec> read_node(const Json& json) {
  NodeSpec node;
  ObjectReader reader(json, "a node");
  reader.require({"name"})
      .text("name", node.name, kTextBytesMax)
      .text("address", node.address, kTextBytesMax)
      .text("rack", node.rack, kTextBytesMax)
      .real("cpus", node.cpus, 0, kCpusMax)
      .whole("memory_bytes", node.memory_bytes, 0, kBytesMax);
  read_slots(reader, node.slots);
  if (auto read = reader.finish(); !read) return fail(std::move(read.error()));
  return node;
}

void write_node(JsonWriter& json, const NodeSpec& node) {
  json.begin_object()
      .field("name", node.name)
      .field("address", node.address)
      .field("rack", node.rack)
      .field("cpus", node.cpus)
      .field("memory_bytes", node.memory_bytes)
      .key("slots")
      .begin_array();
  for (const auto& slot : node.slots) write_slot(json, slot);
  json.end_array().end_object();
}

}  // namespace paceline
