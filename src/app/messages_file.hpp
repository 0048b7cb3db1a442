// The file of `paceline up --messages FILE`: the mail relay, the operator's web hooks and how all is sent
// (docs/operations.md).
//
//   mail: {relay: "smtp://relay.lab.example:587", from: paceline@lab.example}
//   webhooks:
//     - to: https://hooks.lab.example/ops
//       on: [failed, stalled]
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "messages/notifier.hpp"
#include "messages/sender.hpp"

namespace paceline {

struct MessagesFile {
  Wires wires = {};
  std::vector<OperatorHook> hooks = {};
  Duration retry_first = kRetryFirst;
  Duration give_up_after = kGiveUpAfter;
};

// Errors: invalid, with the line; not_found, storage; invalid, too, where others may read it: it holds secrets.
Result<MessagesFile> read_messages_file(const std::string& path);
// `name` is what errors call it.
Result<MessagesFile> parse_messages_file(const std::string& text, const std::string& name);

}  // namespace paceline
