#include "worker_socket.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cerrno>
#include <nlohmann/json.hpp>

#include "descriptor.hpp"

namespace paceline::runtime {
namespace {

constexpr std::string_view kHeaders = "Host: paceline\r\nConnection: close\r\n";
constexpr std::size_t kAnswerMax = std::size_t{1} << 16;

Descriptor connected_to(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return {};
  path.copy(address.sun_path, path.size());
  Descriptor fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd || ::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
    return {};
  return fd;
}

bool is_readable(int fd, std::chrono::milliseconds limit, int ended) {
  std::array<pollfd, 2> waits{pollfd{fd, POLLIN, 0}, pollfd{ended, POLLIN, 0}};
  const int ready = ::poll(waits.data(), waits.size(), static_cast<int>(limit.count()));
  return ready > 0 && waits[1].revents == 0;
}

// Nothing: no answer came within the limit, or before `ended` became readable.
std::optional<std::string> answer_to(const std::string& request, const std::string& path,
                                     std::chrono::milliseconds limit, int ended) {
  const auto fd = connected_to(path);
  const auto said = fd ? ::send(fd.get(), request.data(), request.size(), MSG_NOSIGNAL) : -1;
  if (said != static_cast<ssize_t>(request.size())) return std::nullopt;
  std::string answer;
  std::array<char, 4096> some;
  while (answer.size() < kAnswerMax && is_readable(fd.get(), limit, ended)) {
    const auto count = ::recv(fd.get(), some.data(), some.size(), 0);
    if (count == 0) return answer;
    if (count < 0) return std::nullopt;
    answer.append(some.data(), static_cast<std::size_t>(count));
  }
  return std::nullopt;
}

// An empty object: there is none, or the answer is a refusal.
nlohmann::json body_of(std::string_view answer) {
  const auto head = answer.find("\r\n\r\n");
  if (!answer.starts_with("HTTP/1.1 200 ") || head == answer.npos) return nlohmann::json::object();
  auto body = nlohmann::json::parse(answer.substr(head + 4), nullptr, false);
  return body.is_object() ? body : nlohmann::json::object();
}

// Nothing: it isn't a number from 0 on.
std::optional<std::uint64_t> number_in(const nlohmann::json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_number_unsigned()) return std::nullopt;
  return found->get<std::uint64_t>();
}

// REQUIRES: an object.
std::optional<Next> next_in(const nlohmann::json& object) {
  const auto generation = number_in(object, "generation");
  const auto environment = object.find("environment");
  if (!generation || environment == object.end()) return std::nullopt;
  Next next{*generation, std::nullopt};
  if (environment->is_null()) return next;
  if (!environment->is_object()) return std::nullopt;
  next.environment.emplace();
  for (const auto& [name, value] : environment->items()) {
    if (!value.is_string()) return std::nullopt;
    next.environment->emplace(name, value.get<std::string>());
  }
  return next;
}

}  // namespace

std::optional<std::string> reason_to_stop(const std::string& path, std::chrono::milliseconds limit,
                                          int ended) {
  const auto request = "GET /v1/should_stop HTTP/1.1\r\n" + std::string(kHeaders) + "\r\n";
  const auto answer = answer_to(request, path, limit, ended);
  return answer ? reason_in(*answer) : std::nullopt;
}

std::optional<std::string> reason_in(std::string_view answer) {
  const auto body = body_of(answer);
  const auto stops = body.find("should_stop"), reason = body.find("reason");
  if (stops == body.end() || !stops->is_boolean()) return std::nullopt;
  if (!stops->get<bool>()) return "";
  if (reason == body.end() || !reason->is_string()) return std::nullopt;
  return reason->get<std::string>();
}

std::optional<GangNews> gang_news(const std::string& path, std::uint64_t after,
                                  std::chrono::milliseconds limit, int ended) {
  const auto request = "GET /v1/gang?after=" + std::to_string(after) + " HTTP/1.1\r\n" +
                       std::string(kHeaders) + "\r\n";
  const auto answer = answer_to(request, path, limit, ended);
  return answer ? gang_news_in(*answer) : std::nullopt;
}

std::optional<GangNews> gang_news_in(std::string_view answer) {
  const auto body = body_of(answer);
  const auto version = number_in(body, "version");
  const auto next = body.find("next");
  if (!version || next == body.end()) return std::nullopt;
  GangNews news{*version, number_in(body, "ready").value_or(0),
                number_in(body, "stands").value_or(0), std::nullopt};
  if (next->is_null()) return news;
  if (next->is_object()) news.next = next_in(*next);
  return news.next ? std::optional(news) : std::nullopt;
}

void say_of_gang(const std::string& path, const std::string& what, std::uint64_t generation,
                 std::chrono::milliseconds limit) {
  const auto body = nlohmann::json{{what, generation}}.dump();
  answer_to("POST /v1/gang HTTP/1.1\r\n" + std::string(kHeaders) +
                "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body,
            path, limit, -1);
}

}  // namespace paceline::runtime
