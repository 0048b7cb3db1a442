// Where the bytes of a log of the server came from: what stands beside a log that nodes sent, in
// DIR/logs/<job>/rank<n>.sources. A record for each node tells which of its log's bytes were appended
// last, and where. It is written before they are: how much of them is there says the log's length. So
// whenever the server is ended, none is doubled and none is lost. A machine that loses power may
// do either with the last seconds.
//
//   auto sources = LogSources::open(std::move(file), length);
//   sources->taken(source);                              // goes on there
//   sources->intend(source, {.from = 10, .to = 20, .at = length, .bytes = 10});
//   … append
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "files/fd.hpp"
#include "trust/sha256.hpp"

namespace paceline {

inline constexpr std::size_t kLogSourcesMax = 256;  // of one log

// Which log of a node it is: with another directory of the node's it is another one.
Sha256 log_source(std::string_view node, std::string_view machine);

class LogSources {
 public:
  // What a node's bytes [from, to) become in the server's log: its bytes [at, at + bytes).
  struct Append {
    std::uint64_t from = 0, to = 0;
    std::uint64_t at = 0;
    std::uint32_t bytes = 0;
    friend bool operator==(const Append&, const Append&) = default;
  };

  // `length`: of the log, now; nobody else appends to it meanwhile. Errors: storage.
  static Result<LogSources> open(UniqueFd file, std::uint64_t length);

  // How far the server has this node's log; 0: it has nothing of it.
  [[nodiscard]] std::uint64_t taken(const Sha256& source) const;
  // Is what it sent the last of a log of this length?
  [[nodiscard]] bool wrote_last(const Sha256& source, std::uint64_t length) const;
  // Keeps what is to be appended now. Errors: storage; forbidden: the log has too
  // many sources.
  Result<void> intend(const Sha256& source, const Append& append);
  // The log is only so long now: of what was intended last a part is missing. Errors: storage.
  Result<void> shorten_to(const Sha256& source, std::uint64_t length);

 private:
  struct Known {
    std::size_t place = 0;
    Append append;
    bool continues = false;  // what lies before it in the log is of the same source
  };
  explicit LogSources(UniqueFd file) : file_(std::move(file)) {}

  void read();
  Result<void> write(const Sha256& source, const Known& known);

  UniqueFd file_;
  std::map<Sha256, Known> known_;
  std::size_t places_ = 0;
};

}  // namespace paceline
