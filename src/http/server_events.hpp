// Server-sent events out of a growing text (WHATWG, "Server-sent events", 9.2.6): bytes go in as
// they arrive, whole events come out.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace paceline {

struct ServerEvent {
  std::string kind;  // of `event:`; "message" if there was none
  std::string data;  // of all `data:` lines, newlines in between
  std::string id;    // of the last `id:` so far
  friend bool operator==(const ServerEvent&, const ServerEvent&) = default;
};

class ServerEventParser {
 public:
  void feed(std::string_view bytes) { text_ += bytes; }
  // The next whole event; comments and events without data are skipped.
  std::optional<ServerEvent> next();
  // Bytes fed that are not part of a whole event yet.
  [[nodiscard]] std::size_t unread() const { return text_.size() - at_ + event_.data.size(); }

 private:
  std::optional<std::string_view> line();
  void field(std::string_view line);

  std::string text_;
  std::size_t at_ = 0;
  ServerEvent event_;
  bool has_data_ = false;
};

}  // namespace paceline
