// What a worker and its agent tell each other of the worker's gang, on the worker's socket: which
// generation it goes on in and where it stands there, or that it is to leave; which one it is ready to
// join, which one's ranks have met, and which one stands; and that somebody wants its stacks. The worker waits for news in a
// request; the agent knows only what the worker said to it, so a worker that finds it not knowing says
// it again.
//
//   GangNews news(io_clock, [&](Generation ready, Generation stands) { tell(…); });
//   news.go_on(Generation{4}, gang_environment(job, membership, place, secret));
//   router.add("GET", "/v1/gang", [&](auto exchange) { news.wait(std::move(exchange)); });
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "http/http.hpp"
#include "model/ids.hpp"

namespace paceline::agent {

inline constexpr Duration kGangNewsWait = std::chrono::seconds{10};  // of a request without news
inline constexpr std::size_t kGangNewsWaitersMax = 8;

class GangNews {
 public:
  // `begun`: a number that differs from agent to agent. `said` is called where the worker says something new.
  GangNews(std::uint64_t begun, std::function<void(Generation ready, Generation stands)> said)
      : version_(begun), said_(std::move(said)) {}

  void go_on(Generation generation, std::map<std::string, std::string> environment);
  void leave(Generation generation);
  // The worker said of some generation that all its ranks had met.
  [[nodiscard]] bool has_met() const { return has_met_; }
  // Asks the worker's processes that wait for news to tell their stacks; how many do.
  std::size_t ask_for_stacks();

  // GET /v1/gang?after=VERSION
  void wait(const std::shared_ptr<Exchange>& exchange);
  // POST /v1/gang
  HttpResponse say(const std::string& body);

 private:
  struct Next {
    Generation generation;
    std::optional<std::map<std::string, std::string>> environment;
  };
  void wake();
  [[nodiscard]] HttpResponse answer() const;

  std::uint64_t version_;
  std::optional<Next> next_;
  Generation ready_, stands_;
  bool has_met_ = false;
  std::uint64_t asked_ = 0;  // for stacks
  std::vector<std::weak_ptr<Exchange>> waiting_;
  std::function<void(Generation ready, Generation stands)> said_;
};

}  // namespace paceline::agent
