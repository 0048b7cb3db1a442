// An account of this machine, as its name service tells.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "base/result.hpp"
#include "base/time.hpp"
#include "files/known_entries.hpp"

namespace paceline {

struct Login {
  std::string name;
  std::uint32_t uid = 0;
  std::string home;
  std::string shell;
  friend bool operator==(const Login&, const Login&) = default;
};

// Nothing: there is none. They ask the name service, which may take its time or hang.
std::optional<Login> find_login(std::uint32_t uid);
std::optional<Login> find_login(const std::string& name);

using UserLogins = KnownEntries<std::uint32_t, Login>;
using NamedLogins = KnownEntries<std::string, Login>;

// The name service of this machine, as a server asks it. What they work on is their own: they are called on
// other threads, and may outlive the server.
struct LoginService {
  UserLogins::Find of_user = [](std::uint32_t uid) { return find_login(uid); };
  NamedLogins::Find of_name = [](const std::string& name) { return find_login(name); };
};

// What the users of this machine are called. A name service fails now and then: who had a name keeps it until
// there is another one.
class LoginNames {
 public:
  explicit LoginNames(UserLogins::Find find)
      : known_(std::move(find), {.gone = UserLogins::Gone::never}) {}

  // The number where there is none. Errors: unavailable (may_help): nobody knows now.
  Result<std::string> of(std::uint32_t uid, Time now);

 private:
  UserLogins known_;
};

}  // namespace paceline
