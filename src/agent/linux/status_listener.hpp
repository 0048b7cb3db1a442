// Takes the trainer-status POST that Hugging Face's KubeflowCallback and the Kubeflow SDK send when
// KUBEFLOW_TRAINER_SERVER_URL is set: plain HTTP on the loopback device (both follow the URL's
// scheme), with a bearer token that they read from a file.
//
// The port stays the same over restarts of the server, because running workers know it. A token is
// one user's, in a file that only that user can read; the URL names the worker.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "agent/linux/http_listener.hpp"
#include "base/result.hpp"
#include "model/ids.hpp"

namespace paceline::agent {

class StatusListener {
 public:
  // The user a worker belongs to, or nothing for an unknown worker.
  using Owner = std::function<std::optional<std::uint32_t>(const WorkerKey&)>;
  // Takes the body of an authorised post.
  using Handler = std::function<HttpReply(const WorkerKey&, const std::string& body)>;

  StatusListener(std::string port_file, std::string token_directory, Owner owner, Handler handler);

  // Errors: unavailable, storage. Without it jobs run all the same and report in other ways.
  Result<void> open(boost::asio::io_context& io);

  [[nodiscard]] bool is_open() const { return listener_ != nullptr; }
  [[nodiscard]] std::string url(const WorkerKey& key) const;
  // The file with the user's token, made where it is missing. Errors: storage.
  Result<std::string> token_file(std::uint32_t uid);

  // For tests: what a request is answered.
  HttpReply answer(const HttpRequest& request);

 private:
  Result<UniqueFd> bind_known_port();
  Result<UniqueFd> bind_new_port();
  [[nodiscard]] std::string token_path(std::uint32_t uid) const;
  [[nodiscard]] std::string token(std::uint32_t uid);

  std::string port_file_;
  std::string token_directory_;
  Owner owner_;
  Handler handler_;
  std::uint32_t port_ = 0;
  std::map<std::uint32_t, std::string> tokens_;
  std::unique_ptr<HttpListener> listener_;
};

}  // namespace paceline::agent
