#include "http/server_events.hpp"

#include <utility>

namespace paceline {

std::optional<ServerEvent> ServerEventParser::next() {
  while (const auto current = line()) {
    if (!current->empty()) {
      field(*current);
      continue;
    }
    if (!std::exchange(has_data_, false)) {
      event_.kind.clear();
      continue;
    }
    ServerEvent whole{std::exchange(event_.kind, {}), std::exchange(event_.data, {}), event_.id};
    if (whole.kind.empty()) whole.kind = "message";
    return whole;
  }
  return {};
}

// The next whole line without its end; what was read is dropped from the text now and then.
std::optional<std::string_view> ServerEventParser::line() {
  const auto end = text_.find('\n', at_);
  if (end == std::string::npos) {
    text_.erase(0, std::exchange(at_, 0));
    return {};
  }
  std::string_view found(text_.data() + at_, end - at_);
  at_ = end + 1;
  if (found.ends_with('\r')) found.remove_suffix(1);
  return found;
}

void ServerEventParser::field(std::string_view line) {
  const auto colon = line.find(':');
  const auto name = line.substr(0, colon);
  auto value = colon == std::string_view::npos ? std::string_view{} : line.substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (name == "event") event_.kind = value;
  if (name == "id") event_.id = value;
  if (name != "data") return;
  if (has_data_) event_.data += '\n';
  event_.data += value;
  has_data_ = true;
}

}  // namespace paceline
