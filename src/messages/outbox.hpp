// The messages that are to be sent and what was told of each job: DIR/messages.db, private, durable when a call
// returns. Two of them may be open on one file: the notifier's and the sender's, each on a thread of
// its own.
//
// Messages and what they tell of become durable together, so a restart makes none twice and misses
// none. A message goes when its sink took it; one that was given up stays until its job is forgotten.
//
//   auto outbox = MessageOutbox::open(file);
//   (*outbox)->add({.messages = …, .told = …});       // once
//   for (auto& due : (*outbox)->due(now, 16, 1)) …    // sent, or put_off
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "messages/news.hpp"

namespace paceline {

// Whose right it is sent with: a user's, or nothing: the server's.
using Sender = std::optional<std::uint32_t>;

struct Outgoing {
  std::string id;  // with `to` it is one message
  std::string to;  // "mailto:…", "https://…"
  JobId job;
  MessageKind kind = MessageKind::ended;
  Sender sender;
  Time made_at;
  std::string payload;  // the whole mail, or the body for a web hook
  std::uint32_t tries = 0;
};

struct OutboxBatch {
  std::vector<Outgoing> messages = {};
  std::vector<std::pair<JobId, Told>> told = {};
  std::vector<JobId> forgotten = {};  // nothing will be told of them any more
};

// How the messages of a job fared, for its owner.
struct OutboxSums {
  std::uint64_t waiting = 0, given_up = 0;
  std::string problem;  // of the newest that wasn't taken; empty: none
};

class MessageOutbox {
 public:
  // Makes the file where there is none. Errors: storage, data.
  static Result<std::unique_ptr<MessageOutbox>> open(const std::filesystem::path& file);
  ~MessageOutbox();

  // Of the file, random; a part of every message's id.
  [[nodiscard]] const std::string& identity() const;
  // When the file was made, or this operator's hook was first asked for, and no earlier: nothing from before is told.
  // Hooks that are not among `keys` are forgotten. Errors: storage.
  Result<Time> begun(Time now);
  Result<std::vector<Time>> hooks_since(std::span<const std::string> keys, Time now);

  Result<std::map<JobId, Told>> told();
  // Errors: storage: nothing of it is kept.
  Result<void> add(const OutboxBatch& batch);
  // That wait, and that were made since.
  std::uint64_t waiting(Sender sender);
  std::uint64_t made_since(Sender sender, Time since);
  OutboxSums sums(JobId job);

  // Of each sender at most `each` that are due, and of them `per_address` to each address, so that one that
  // takes nothing leaves room for the others; those first that are due for the longest.
  std::vector<Outgoing> due(Time now, std::size_t each, std::size_t per_address);
  std::optional<Time> next_due();
  // ---- of one message; errors: storage ----
  Result<void> sent(const Outgoing& message);
  Result<void> put_off(const Outgoing& message, Time until, const std::string& problem);
  Result<void> given_up(const Outgoing& message, const std::string& problem);

 private:
  struct Impl;
  explicit MessageOutbox(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace paceline
