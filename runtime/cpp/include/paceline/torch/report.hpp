// What a worker tells Paceline and anybody who reads its log: JSON lines on standard output.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <map>
#include <string>

namespace paceline {

using Metrics = std::map<std::string, double>;

namespace detail {

// Numbers by name as bytes, and back.
inline std::string packed(const Metrics& metrics) {
  std::string bytes;
  for (const auto& [name, value] : metrics) {
    bytes += name + '\0';
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  return bytes;
}
inline Metrics metrics_in(const std::string& bytes) {
  Metrics metrics;
  for (std::size_t at = 0; at < bytes.size();) {
    const auto end = bytes.find('\0', at);
    std::memcpy(&metrics[bytes.substr(at, end - at)], bytes.data() + end + 1, sizeof(double));
    at = end + 1 + sizeof(double);
  }
  return metrics;
}

inline std::string quoted(const std::string& text) {
  std::string quoted = "\"";
  for (const char each : text) {
    char code[8];
    std::snprintf(code, sizeof code, "\\u%04x", static_cast<unsigned char>(each));
    const bool is_control = static_cast<unsigned char>(each) < 0x20;
    if (each == '"' || each == '\\') quoted += '\\';
    quoted += is_control ? std::string(code) : std::string(1, each);
  }
  return quoted + '"';
}

// One line. Numbers are cut to six digits, NaN and infinity left out.
class Report {
 public:
  Report& add(const std::string& name, double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.6g", value);
    return std::isfinite(value) ? put(name, text) : *this;
  }
  Report& add(const std::string& name, std::uint64_t value) {
    return put(name, std::to_string(value));
  }
  Report& add(const std::string& name, const std::string& text) { return put(name, quoted(text)); }
  Report& add(const Metrics& metrics) {
    for (const auto& [name, value] : metrics) add(name, value);
    return *this;
  }
  Report& add_resume(bool agrees, const std::string& text) {
    return put("resume_audit", std::string("{\"agrees\": ") + (agrees ? "true" : "false") +
                                   ", \"text\": " + quoted(text) + "}");
  }
  void print() const { std::cout << "{\"paceline\": {" + members_ + "}}\n" << std::flush; }

 private:
  Report& put(const std::string& name, const std::string& value) {
    members_ += (members_.empty() ? "" : ", ") + quoted(name) + ": " + value;
    return *this;
  }

  std::string members_;
};

}  // namespace detail
}  // namespace paceline
