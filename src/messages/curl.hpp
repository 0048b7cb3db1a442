// One message on its way to its sink: curl as a child, which gets what it must know on its standard input and
// the payload on another descriptor, so that no secret is in a command line. It has none of the server's descriptors
// or variables, and runs as the message's owner where the server may change users: a user's web hook is
// asked with the user's rights.
//
//   auto run = CurlRun::start("/usr/bin/curl", curl_config(address, id, wires), message.payload, owner);
//   poll(run->fd());  auto answer = run->finish();
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "files/fd.hpp"

namespace paceline {

struct MailRelay {
  std::string url;       // "smtp://relay.lab.example:587", "smtps://…"
  std::string from;      // "paceline@lab.example"
  bool starttls = true;  // must be had; only without it a relay that has none is used
  std::string login;     // "user:password"; empty: none
};

// How everything is sent.
struct Wires {
  std::optional<MailRelay> relay;  // none: nothing is mailed
  std::string proxy;               // for web hooks; empty: none
  std::string ca_file;             // certificates that are trusted; empty: the machine's
};

// curl's configuration for one message. REQUIRES: the address was parsed (notify/notify.hpp), for mail there is
// a relay.
std::string curl_config(std::string_view address, std::string_view id, const Wires& wires);

// What the sink said.
struct SinkAnswer {
  bool taken = false;
  bool useless = false;  // trying again helps nobody
  std::string problem;   // a sentence's part: "the answer was 500"; empty where it was taken
};
// By curl's exit status and the number in the sink's answer, 0 if there was none.
SinkAnswer answer_of(bool mail, int exit_status, int code);

// Whose rights a child gets. Errors: not_found: the account is gone.
struct Rights {
  uid_t uid = 0;
  gid_t gid = 0;
  std::vector<gid_t> groups;
};
Result<Rights> rights_of(std::uint32_t uid);

// The program, in $PATH. Errors: not_found, with how to get it.
Result<std::string> find_curl();

inline constexpr int kConnectSeconds = 10, kSendSeconds = 30;

class CurlRun {
 public:
  // `rights`: nothing: as the server. Errors: storage (no memory, no process).
  static Result<CurlRun> start(const std::string& curl, const std::string& config,
                               const std::string& payload, const std::optional<Rights>& rights);
  CurlRun(CurlRun&& other) noexcept;
  CurlRun& operator=(CurlRun&&) = delete;
  ~CurlRun();  // ends it

  // Readable once it is over.
  [[nodiscard]] int fd() const { return said_.get(); }
  void kill();
  // Waits for its end.
  SinkAnswer finish(bool mail);

 private:
  CurlRun(pid_t pid, UniqueFd said) : pid_(pid), said_(std::move(said)) {}

  pid_t pid_ = 0;
  UniqueFd said_;
};

}  // namespace paceline
