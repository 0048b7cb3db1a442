// For tests: a server on a unix socket in a fresh directory that answers as it is told, and a
// command line run against it with its output caught.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cli/words/console.hpp"

namespace paceline {

struct FakeRequest {
  std::string method;
  std::string target;
  std::string body;
  std::string idempotency_key;
};

struct FakeAnswer {
  enum class Kind {
    body,     // and the connection is kept
    events,   // a chunked stream that ends in its middle
    quiet,    // a stream that stays open until the client leaves
    hang_up,  // the request is read, then the connection is lost
    tunnel,   // 101, then what arrives comes back until Ctrl-D does
  };

  std::string text;
  unsigned status = 200;
  Kind kind = Kind::body;
};

FakeAnswer fake_error(unsigned status, const std::string& code, const std::string& message);

// Answers on threads of its own; `handler` is called by one at a time.
class FakeServer {
 public:
  using Handler = std::function<FakeAnswer(const FakeRequest&)>;

  explicit FakeServer(Handler handler);
  ~FakeServer();
  FakeServer(const FakeServer&) = delete;
  FakeServer& operator=(const FakeServer&) = delete;

  [[nodiscard]] std::string directory() const;
  // So far, in order, each as "METHOD target".
  [[nodiscard]] std::vector<std::string> log() const;
  [[nodiscard]] std::vector<FakeRequest> requests() const;
  // How many connections were accepted.
  [[nodiscard]] int connections() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

struct CliResult {
  int code = 0;
  std::string out;
  std::string err;
};

// `paceline <words>` without any terminal. `environment` is all it has besides a PATH; `input` is
// what it can read.
CliResult run_words(const std::vector<std::string>& words, Environment environment = {},
                    const std::string& input = {});
// The same with --server of this one.
CliResult run_words(const FakeServer& server, const std::vector<std::string>& words,
                    const std::string& input = {});

}  // namespace paceline
