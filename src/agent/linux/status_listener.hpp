// Takes the trainer-status POST that Hugging Face's KubeflowCallback and the Kubeflow SDK send when
// KUBEFLOW_TRAINER_SERVER_URL is set: plain HTTP on the loopback device (both follow the URL's
// scheme), with a bearer token that they read from a file.
//
// The port stays the same over restarts of the server, because running workers know it. Nobody else
// gets it meanwhile: every supervisor holds a socket that is bound to it, beside which only the
// same user may bind another. A token is one worker's, while that lives; the claim keeps it, and a
// file that only the worker's owner can read. A post to a port that the worker was not given counts
// for nothing: whoever listened there may have its token.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "agent/linux/ports.hpp"
#include "base/result.hpp"
#include "files/fd.hpp"
#include "http/http.hpp"
#include "http/server.hpp"
#include "model/ids.hpp"

namespace paceline::agent {

class StatusListener {
 public:
  // The token of a worker that lives and was given this port; empty: there is none.
  using TokenOf = std::function<std::string(const ProcessKey&, std::uint32_t port)>;
  // Takes the body of an authorised post.
  using Handler = std::function<HttpResponse(const ProcessKey&, const std::string& body)>;

  StatusListener(std::string port_file, TokenOf token_of, Handler handler);

  // Listens on the port of before, or on a free one of the blocks. Errors: unavailable, storage.
  // Without it jobs run all the same and report in other ways.
  Result<void> open(boost::asio::io_context& io, const PortBlocks& blocks);

  [[nodiscard]] bool is_open() const { return server_ != nullptr; }
  [[nodiscard]] std::uint32_t port() const { return port_; }
  [[nodiscard]] std::string url(const ProcessKey& key) const;
  // What holds the port: hand a copy to every supervisor. Empty while it is not open.
  [[nodiscard]] const std::vector<UniqueFd>& held() const { return held_; }

  // For tests: what a request is answered.
  HttpResponse answer(const HttpRequest& request);

 private:
  [[nodiscard]] UniqueFd take_port(std::uint32_t port);
  [[nodiscard]] Result<UniqueFd> take_new_port(const PortBlocks& blocks);

  std::string port_file_;
  TokenOf token_of_;
  Handler handler_;
  std::uint32_t port_ = 0;
  std::vector<UniqueFd> held_;
  std::unique_ptr<HttpServer> server_;
};

}  // namespace paceline::agent
