// What an agent does with what its machine keeps of a server that it joined: join, go on with the identity
// that is there, ask for a new certificate in time, or say what a person has to do.
#pragma once

#include <optional>
#include <string>

#include "base/result.hpp"
#include "base/time.hpp"
#include "trust/certificate.hpp"

namespace paceline {

// Of the identity that is kept (trust/identity.hpp).
struct KeptIdentity {
  std::string node;
  Validity validity;
};

enum class Entrance {
  goes_on,      // with what is kept
  joins,        // by the token that it was given
  joins_again,  // by the token; where that is refused, may_go_on() says whether what is kept will do
};

// `node`: what the machine is to be called. Errors: conflict: it joined as another node; invalid: it never
// joined, and there is no token.
Result<Entrance> entrance_of(const std::optional<KeptIdentity>& kept, const std::string& node,
                             bool has_token);
// A line that was pasted once more does no harm.
bool may_go_on(const KeptIdentity& kept, const std::string& node, WallTime now);

// Why the agent can't serve with it. Nothing: it holds.
std::optional<Error> flaw_of(const KeptIdentity& kept, WallTime now);
// Is a new certificate to be asked for? From when two thirds of the old one are over.
bool wants_another(const KeptIdentity& kept, WallTime now);

}  // namespace paceline
