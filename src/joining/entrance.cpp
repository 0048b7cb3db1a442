#include "joining/entrance.hpp"

#include <fmt/format.h>

namespace paceline {
namespace {

Error another_node(const std::string& kept, const std::string& node) {
  return {ErrorCode::conflict, fmt::format("This machine joined as '{}', not as '{}'.", kept, node),
          "Leave --node out, or use a directory of its own: --dir DIR.", Retry::useless};
}

}  // namespace

Result<Entrance> entrance_of(const std::optional<KeptIdentity>& kept, const std::string& node,
                             bool has_token) {
  if (kept && kept->node != node && !has_token) return fail(another_node(kept->node, node));
  if (kept && has_token) return Entrance::joins_again;
  if (has_token) return Entrance::joins;
  if (kept) return Entrance::goes_on;
  return fail(ErrorCode::invalid, "This machine has not joined a server.",
              "Let 'paceline node invite' on the server print the line to paste here.");
}

bool may_go_on(const KeptIdentity& kept, const std::string& node, WallTime now) {
  return kept.validity.until > now && kept.node == node;
}

std::optional<Error> flaw_of(const KeptIdentity& kept, WallTime now) {
  if (now < kept.validity.until) return {};
  return Error{ErrorCode::forbidden,
               fmt::format("The identity of node '{}' ran out on {}, by this machine's clock.",
                           kept.node, utc_text(kept.validity.until)),
               fmt::format("If the clock is right, 'paceline node remove {}' on the server, then "
                           "let 'paceline node invite' print the line to join anew.",
                           kept.node),
               Retry::useless};
}

bool wants_another(const KeptIdentity& kept, WallTime now) {
  return now >= kept.validity.renew_at();
}

}  // namespace paceline
