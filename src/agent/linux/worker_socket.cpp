#include "agent/linux/worker_socket.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "agent/linux/files.hpp"
#include "base/digest.hpp"
#include "files/own.hpp"

namespace paceline::agent {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kClaimNameMax = 40;  // "4294967295.4294967295.2147483647.sock" and the slash
constexpr int kWorkerBacklog = 64;

std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

HttpResponse take(const Result<Report>& report, const WorkerVoice& voice) {
  if (!report) return error_response(report.error());
  voice.report(*report);
  return {.body = "{}"};
}

HttpResponse tell_should_stop(const WorkerVoice& voice) {
  const std::string reason = voice.should_stop();
  return {.body = dump({{"should_stop", !reason.empty()},
                        {"reason", reason.empty() ? Json() : Json(reason)}})};
}

HttpResponse tell_me(const WorkerOrder& order, const WorkerVoice& voice) {
  const Membership now = voice.membership();
  return {.body = dump({{"job", order.key.job.value},
                        {"name", order.job_name},
                        {"generation", now.generation.value},
                        {"attempt", order.attempt},
                        {"rank", now.rank},
                        {"world_size", now.world_size},
                        {"checkpoint", order.checkpoint.empty() ? Json() : Json(order.checkpoint)},
                        {"notice", voice.noticed()}})};
}

}  // namespace

HttpResponse answer_worker(const HttpRequest& request, const WorkerOrder& order,
                           const WorkerVoice& voice) {
  const bool post = request.method == "POST";
  const bool get = request.method == "GET";
  if (request.path == "/v1/metrics" && post) return take(parse_report(request.body), voice);
  if (request.path == "/v1/checkpoint" && post) return take(parse_checkpoint(request.body), voice);
  if (request.path == "/v1/publish" && post) return take(parse_model(request.body), voice);
  if (request.path == "/v1/should_stop" && get) return tell_should_stop(voice);
  if (request.path == "/v1/me" && get) return tell_me(order, voice);
  return error_response(
      {ErrorCode::not_found,
       "The worker socket has POST /v1/metrics, POST /v1/checkpoint, POST /v1/publish, GET "
       "/v1/should_stop, GET and POST /v1/gang, POST /v1/timeline and GET /v1/me.",
       {},
       Retry::useless});
}

Result<std::string> make_socket_directory(const std::string& server_directory) {
  const mode_t mode = ::geteuid() == 0 ? 0711 : 0700;
  std::string path = server_directory + "/run";
  if (path.size() + kClaimNameMax >= sizeof(sockaddr_un::sun_path))
    path = fmt::format("/tmp/paceline-{}-{:016x}", ::geteuid(),
                       Digest().add(std::string_view(server_directory)).value());
  if (auto made = make_own_directory(path, mode); !made) return fail(made.error());
  if (::chmod(path.c_str(), mode) != 0)
    return fail(system_error("Can't set up '" + path + "'", errno));
  return path;
}

Result<UniqueFd> listen_at(const std::string& path, std::uint32_t uid) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path)
    return fail(ErrorCode::storage, "The path '" + path + "' is too long for a socket.");
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  ::unlink(path.c_str());
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const bool bound =
      fd && ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
      ::chmod(path.c_str(), 0600) == 0 &&
      (::geteuid() != 0 || ::chown(path.c_str(), uid, static_cast<gid_t>(-1)) == 0) &&
      ::listen(fd.get(), kWorkerBacklog) == 0;
  if (!bound) return fail(system_error("The worker socket '" + path + "' can't be made", errno));
  return fd;
}

}  // namespace paceline::agent
