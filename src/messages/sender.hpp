// Sends what waits in the outbox, on a thread of its own: a slow or dead sink delays neither the server nor
// other people's messages. At most kSendsMax at once, of one user kUserSendsMax, to one address one.
//
// What its sink did not take is tried again after waits that double, until it is too old. Where the server
// ends between a sink's answer and the note of it, the message goes out again, under the same id.
//
//   MessageSender sender({.outbox = file, .curl = "/usr/bin/curl", .now = …});
//   sender.wake();   // there are new ones
#pragma once

#include <sys/types.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <thread>

#include "base/time.hpp"
#include "files/inquiries.hpp"
#include "messages/curl.hpp"
#include "messages/outbox.hpp"

namespace paceline {

inline constexpr std::size_t kSendsMax = 32;
inline constexpr std::size_t kUserSendsMax = 2;
inline constexpr Duration kRetryFirst = std::chrono::seconds{30};
inline constexpr Duration kRetryMost = std::chrono::hours{1};
inline constexpr Duration kGiveUpAfter = std::chrono::hours{72};

// Before the n-th repetition, from 1.
Duration pause_before(std::uint32_t repetition, Duration first);

class MessageSender {
 public:
  struct Options {
    std::filesystem::path outbox;
    std::string curl;
    Wires wires = {};
    bool as_owner = false;  // may it become another user?
    // Called on other threads; what it works on is its own: it may outlive the sender.
    Inquiries<std::uint32_t, Result<Rights>>::Find find_rights = rights_of;
    Duration retry_first = kRetryFirst;
    Duration give_up_after = kGiveUpAfter;
    std::function<Time()> now;  // called from this thread
  };

  // Errors: of the outbox.
  static Result<std::unique_ptr<MessageSender>> start(Options options);
  // Ends what is on its way; it goes out again after the next start.
  ~MessageSender();

  // From any thread.
  void wake();

 private:
  struct Sending {
    Outgoing message;
    CurlRun run;
    Time until;  // then it is ended
  };

  MessageSender(Options options, std::unique_ptr<MessageOutbox> outbox);
  void run();
  void begin_due(Time now);
  [[nodiscard]] bool may_begin(const Outgoing& message) const;
  void begin(const Outgoing& message, Time now);
  void wait(Time now);
  void end_over(Time now);
  void note(const Outgoing& message, const SinkAnswer& answer, Time now);

  Options options_;
  std::unique_ptr<MessageOutbox> outbox_;
  UniqueFd bell_;
  std::list<Sending> sending_;
  Inquiries<std::uint32_t, Result<Rights>> rights_;
  std::atomic<bool> ending_ = false;
  std::thread thread_;
};

}  // namespace paceline
