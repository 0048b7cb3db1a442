// The terminal of a job with `pty`: rank 0's program runs on a pseudo terminal whose other side the
// supervisor keeps. What the program writes goes to the log and to everybody attached; whoever
// attaches is first told the last of it. Nobody has to be attached, and detaching ends nothing.
//
// A client connects to the unix socket `path` and sends and gets raw bytes. It tells its size by
// the sequence with which terminals report it, ESC [ 8 ; rows ; columns t: that is taken out of the
// input, everything else is typed.
#pragma once

#include <poll.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "files/fd.hpp"

namespace paceline::agent {

struct TerminalSize {
  std::uint16_t rows = 24;
  std::uint16_t columns = 80;
  friend bool operator==(const TerminalSize&, const TerminalSize&) = default;
};

// Takes the sequences that tell a size out of what a client sends, also where they come in pieces.
class TerminalInput {
 public:
  // What is typed; the sizes that came with it go to `size`, the last one counts.
  std::string take(std::string_view bytes, std::optional<TerminalSize>& size);

 private:
  std::string held_;  // the beginning of what may become such a sequence
};

class Terminal {
 public:
  static constexpr std::size_t kClientsMax = 8;
  static constexpr std::size_t kScrollbackMax = 16 << 10;
  static constexpr std::chrono::seconds kLastWords{5};
  static constexpr std::size_t kPendingMax =
      256 << 10;  // a client that falls further behind is dropped

  // Makes the pseudo terminal for `uid` and listens at `path`. Output is also written to `log`.
  // Errors: storage.
  static Result<Terminal> open(const std::string& path, std::uint32_t uid, int log);
  Terminal(Terminal&&) = default;
  Terminal& operator=(Terminal&&) = default;

  // The program's side, until its start; then closed with close_slave(), so that the end of the
  // program is seen.
  [[nodiscard]] int slave() const { return slave_.get(); }
  void close_slave() { slave_.reset(); }

  // What to wait for, and what to do once it has come. REQUIRES: `ready` is what add_to() appended,
  // in place.
  void add_to(std::vector<pollfd>& watched) const;
  void handle(const pollfd* ready, std::size_t count);
  // Takes what the program wrote last.
  void drain();
  // Stops listening, and drops everybody once they have all that was shown. Waits so long for those who
  // read slowly: kLastWords.
  void close();

 private:
  struct Client {
    UniqueFd fd;
    TerminalInput input;
    std::string pending;  // output that its socket did not take yet
  };
  Terminal() = default;

  bool read_master();
  void accept_client();
  void serve(Client& client, short events);
  void type(std::string_view bytes);
  void show(std::string_view bytes);
  static void send_pending(Client& client);
  void send_last_words();
  void resize(const TerminalSize& size) const;

  std::string path_;
  int log_ = -1;
  UniqueFd master_;
  UniqueFd slave_;
  UniqueFd listener_;
  std::vector<Client> clients_;
  std::string scrollback_;
  std::string typed_;  // that the program did not read yet
};

}  // namespace paceline::agent
