#include "api/place_json.hpp"

#include "model/label.hpp"

namespace paceline {

void write_place(JsonWriter& json, const NodePlace& place) {
  json.field("rack", unless_empty(place.rack)).field("switch", unless_empty(place.network_switch));
  json.key("labels").begin_object();
  for (const auto& [key, value] : place.labels) json.field(key, value);
  json.end_object();
}

void read_place(ObjectReader& reader, NodePlace& place) {
  reader.text("rack", place.rack, kPlaceNameMax);
  reader.text("switch", place.network_switch, kPlaceNameMax);
  reader.text_map("labels", place.labels, kLabelsMax);
  const Result<void> judged[] = {validate_place("rack", place.rack),
                                 validate_place("switch", place.network_switch),
                                 validate_labels(place.labels)};
  for (const auto& each : judged) {
    if (!each) reader.refuse(each.error());
  }
}

}  // namespace paceline
