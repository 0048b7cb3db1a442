#include "app/messages.hpp"

#include <utility>

#include "http/tcp_socket.hpp"

namespace paceline {

Result<std::unique_ptr<Messages>> Messages::open(MessagesOptions options, Controller& controller) {
  MessagesFile file;
  if (options.file) {
    auto read = read_messages_file(*options.file);
    if (!read) return fail(read.error());
    file = std::move(*read);
  }
  std::unique_ptr<Messages> messages(new Messages);
  messages->curl_ = find_curl();
  if (options.file && !messages->curl_) return fail(messages->curl_.error());
  messages->mails_ = file.wires.relay.has_value();
  const auto path = options.directory / "messages.db";
  auto outbox = MessageOutbox::open(path);
  if (!outbox) return fail(outbox.error());
  Notifier::Options making{.server = host_name(),
                           .from = {file.wires.relay ? file.wires.relay->from : std::string()},
                           .hooks = std::move(file.hooks),
                           .limits = options.limits,
                           .reason = [&controller](const Job& job) {
                             return sentence(controller.reason(job, Viewer::owner));
                           }};
  messages->notifier_ = std::make_unique<Notifier>(controller.state(), controller.store(),
                                                   std::move(*outbox), std::move(making));
  if (auto begun = messages->notifier_->begin(options.now()); !begun) return fail(begun.error());
  if (messages->curl_) {
    auto sender = MessageSender::start({.outbox = path,
                                        .curl = *messages->curl_,
                                        .wires = std::move(file.wires),
                                        .as_owner = ::geteuid() == 0,
                                        .retry_first = file.retry_first,
                                        .give_up_after = file.give_up_after,
                                        .now = options.now});
    if (!sender) return fail(sender.error());
    messages->sender_ = std::move(*sender);
    messages->notifier_->on_new([sender = messages->sender_.get()] { sender->wake(); });
  }
  messages->commits_ =
      controller.on_commit([notifier = messages->notifier_.get(), now = options.now](
                               std::span<const Entry> entries, std::span<const JobId> touched) {
        notifier->take(entries, touched, now());
      });
  return messages;
}

std::optional<Time> Messages::step(Time now) {
  notifier_->step(now);
  return notifier_->due();
}

Result<void> Messages::may_notify(const Notify& notify) const {
  if (!notify.to.empty() && !curl_)
    return fail(ErrorCode::invalid, curl_.error().message, curl_.error().hint);
  for (const auto& address : notify.to) {
    if (!is_mail(address) || mails_) continue;
    return fail(
        ErrorCode::invalid, "This server sends no mail: it knows no mail relay.",
        "Name a web hook (https://…) with --notify-to, or ask its administrator for 'paceline "
        "up --messages FILE' (docs/operations.md).");
  }
  return {};
}

}  // namespace paceline
