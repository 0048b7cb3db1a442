// Everything about messages in one server: what makes them and what sends them.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "app/messages_file.hpp"
#include "scheduler/controller.hpp"

namespace paceline {

struct MessagesOptions {
  std::optional<std::string> file;  // of --messages; nothing: web hooks of users alone
  std::filesystem::path directory;  // the server's
  Limits limits;
  std::function<Time()> now;  // called from another thread, too
};

class Messages {
 public:
  // What was missed before the last end is made now. REQUIRES: the controller has recovered and has done
  // nothing since; it outlives the messages. Errors: invalid, not_found (the file, curl), storage, data.
  static Result<std::unique_ptr<Messages>> open(MessagesOptions options, Controller& controller);

  // What is due; says when something is due next.
  std::optional<Time> step(Time now);
  // Errors: invalid, with what to do: curl or the relay is missing.
  [[nodiscard]] Result<void> may_notify(const Notify& notify) const;
  [[nodiscard]] OutboxSums sums(JobId job) { return notifier_->sums(job); }

 private:
  Messages() = default;

  Result<std::string> curl_ = std::string();
  bool mails_ = false;
  std::unique_ptr<Notifier> notifier_;
  std::unique_ptr<MessageSender> sender_;  // none: there is no curl
  std::shared_ptr<void> commits_;          // are listened to
};

}  // namespace paceline
