// Every route, asked by every role, about what is theirs and about what is another's.
#include "api/access.hpp"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <string>

#include "api/world_testing.hpp"

namespace paceline {
namespace {

constexpr std::uint32_t kOwner = 1001, kOther = 1002;
constexpr std::array kRoles = {Role::viewer, Role::user,     Role::operator_,
                               Role::admin,  Role::newcomer, Role::node};

// Of whose jobs a viewer, a user, an operator, an admin, a newcomer and a node may do it: nobody's,
// their own, anybody's.
using Expected = std::array<char, 6>;
constexpr Expected kEverybody = {'a', 'a', 'a', 'a', 'n', 'n'},
                   kOwners = {'n', 'o', 'o', 'a', 'n', 'n'},
                   kOwnersAndOperators = {'n', 'o', 'a', 'a', 'n', 'n'},
                   kOperators = {'n', 'n', 'a', 'a', 'n', 'n'},
                   kAdmins = {'n', 'n', 'n', 'a', 'n', 'n'},
                   kNewcomers = {'n', 'n', 'n', 'n', 'o', 'n'},
                   kNodes = {'n', 'n', 'n', 'n', 'n', 'o'},
                   kNodesAndAdmins = {'n', 'n', 'n', 'a', 'n', 'o'};

const std::map<std::string, Expected> kRoutes = {
    {"GET /healthz", kEverybody},
    {"GET /readyz", kEverybody},
    {"GET /v1/server", kEverybody},
    {"GET /v1/whoami", kEverybody},
    {"GET /v1/limits", kEverybody},
    {"GET /metrics", kEverybody},
    {"GET /v1/rules", kEverybody},
    {"GET /v1/nodes", kEverybody},
    {"GET /v1/users", kEverybody},
    {"GET /v1/jobs", kEverybody},
    {"GET /v1/jobs/{id}", kEverybody},
    {"GET /v1/jobs/{id}/why", kEverybody},
    {"GET /v1/jobs/{id}/wait", kEverybody},
    {"GET /v1/jobs/{id}/logs", kOwners},
    {"GET /v1/jobs/{id}/timeline", kOwners},
    {"GET /v1/jobs/{id}/stacks", kOwners},
    {"GET /v1/jobs/{id}/metrics", kOwners},
    {"GET /v1/jobs/{id}/notify", kOwners},
    {"GET /v1/jobs/{id}/attach", kOwners},
    {"GET /v1/events", kEverybody},
    {"GET /v1/expected", kEverybody},
    {"GET /v1/stats", kEverybody},
    {"GET /v1/policy", kEverybody},
    {"GET /v1/policy/{name}", kEverybody},
    {"GET /v1/shadow", kEverybody},
    {"POST /v1/jobs", kOwners},
    {"POST /v1/plan", kOwners},
    {"POST /v1/ships", kOwners},
    {"POST /v1/ships/pieces", kOwners},
    {"POST /v1/jobs/{id}/pause", kOwners},
    {"POST /v1/jobs/{id}/resume", kOwners},
    {"POST /v1/jobs/{id}/resize", kOwners},
    {"POST /v1/jobs/{id}/cancel", kOwnersAndOperators},
    {"PUT /v1/rules", kOperators},
    {"PUT /v1/policy", kOperators},
    {"PUT /v1/policy/{name}", kOperators},
    {"DELETE /v1/policy/{name}", kOperators},
    {"POST /v1/policy/rollback", kOperators},
    {"PUT /v1/shadow", kOperators},
    {"POST /v1/shadow/promote", kOperators},
    {"DELETE /v1/shadow", kOperators},
    {"POST /v1/journal/prune", kAdmins},
    {"GET /v1/slurm", kEverybody},
    {"POST /v1/slurm", kAdmins},
    {"DELETE /v1/slurm", kAdmins},
    {"GET /v1/tokens", kAdmins},
    {"POST /v1/tokens", kAdmins},
    {"DELETE /v1/tokens/{token}", kAdmins},
    {"GET /v1/invitations", kAdmins},
    {"POST /v1/invitations", kAdmins},
    {"DELETE /v1/invitations/{invitation}", kAdmins},
    {"DELETE /v1/nodes/{node}", kAdmins},
    {"POST /v1/nodes/{node}/drain", kOperators},
    {"POST /v1/nodes/{node}/undrain", kOperators},
    {"POST /v1/join", kNewcomers},
    {"POST /v1/identity", kNodes},
    {"POST /v1/checkpoints", kNodesAndAdmins},
    {"POST /v1/checkpoints/pieces", kNodesAndAdmins},
    {"POST /v1/checkpoints/unkept", kNodesAndAdmins},
    {"GET /v1/link", kNodes},
    {"GET /v1/bytes", kNodes},
    {"POST /v1/shutdown", kAdmins},
};

Principal somebody(std::uint32_t uid, std::vector<Role> roles) {
  return {.user = "u" + std::to_string(uid),
          .uid = uid,
          .roles = std::move(roles),
          .known_by = KnownBy::unix_socket};
}

// A shared server with a job of the owner's, which takes every caller for the user the test says.
class Door {
 public:
  Door() {
    const auto made = world_.ask_later(kOwner, "POST", "/v1/jobs", submission());
    EXPECT_EQ(made.status, 201) << made.body;
  }

  [[nodiscard]] std::vector<RouteRow> rows() {
    return world_.loop.on([&] { return world_.api->rows(); });
  }
  // Whether the request is let through, whatever it is answered then.
  bool lets_in(const RouteRow& row, const Principal& caller) {
    std::string target = row.pattern;
    if (const auto id = target.find("{id}"); id != std::string::npos) target.replace(id, 4, "1");
    if (const auto token = target.find("{token}"); token != std::string::npos)
      target.replace(token, 7, "1");
    if (const auto name = target.find("{name}"); name != std::string::npos)
      target.replace(name, 6, "fifo");
    for (const std::string_view part : {"{invitation}", "{node}"})
      if (const auto at = target.find(part); at != std::string::npos)
        target.replace(at, part.size(), "1");
    const auto response = world_.loop.on([&] {
      caller_ = caller;
      return ask(world_.api->router(), *caller.uid, row.method, target)->response();
    });
    return !response || response->status != 403;
  }

 private:
  Principal caller_ = somebody(kOwner, {Role::user});
  World world_{0, 4, [this](const HttpRequest&) -> Result<Principal> { return caller_; }};
};

bool may(char whose, bool own) { return whose == 'a' || (whose == 'o' && own); }

TEST(Access, EveryRouteIsInTheTable) {
  Door door;
  std::map<std::string, int> seen;
  for (const auto& row : door.rows()) ++seen[row.method + " " + row.pattern];
  for (const auto& [route, times] : seen) {
    EXPECT_TRUE(kRoutes.contains(route)) << route << ": say who may use it";
    EXPECT_EQ(times, 1) << route;
  }
  EXPECT_EQ(seen.size(), kRoutes.size());
}

TEST(Access, EveryRouteAsEveryRole) {
  const auto rows = Door().rows();
  for (std::size_t role = 0; role < kRoles.size(); ++role) {
    for (const auto& row : rows) {
      const bool of_a_job = row.pattern.find("{id}") != std::string::npos;
      const char whose = kRoutes.at(row.method + " " + row.pattern)[role];
      for (const bool own : {false, true}) {
        Door door;
        const auto caller = somebody(own ? kOwner : kOther, {kRoles[role]});
        EXPECT_EQ(door.lets_in(row, caller), may(whose, own || !of_a_job))
            << row.method << " " << row.pattern << " by role " << role << (own ? ", own" : "");
      }
    }
  }
}

TEST(Access, ACallerWithoutARoleMayDoNothing) {
  Door door;
  for (const auto& row : door.rows()) {
    EXPECT_FALSE(door.lets_in(row, somebody(kOwner, {}))) << row.method << " " << row.pattern;
  }
}

TEST(Access, SeveralRolesGiveTheMostThatOneOfThemGives) {
  const auto both = somebody(kOther, {Role::viewer, Role::operator_});
  EXPECT_EQ(whose(both, Action::cancel), Whose::anybodys);
  EXPECT_EQ(whose(both, Action::control), Whose::own);
  EXPECT_EQ(whose(both, Action::shut_down), Whose::nobodys);
}

TEST(Access, EveryActionIsSaidOfEveryRole) {
  for (int i = 0; i <= static_cast<int>(kLastAction); ++i) {
    const auto action = static_cast<Action>(i);
    const bool machines = action == Action::join || action == Action::be_a_node;
    EXPECT_EQ(whose(somebody(kOther, {Role::admin}), action),
              machines ? Whose::nobodys : Whose::anybodys);
    const auto refused = allowed(somebody(kOther, {}), action);
    ASSERT_FALSE(refused);
    EXPECT_FALSE(refused.error().message.empty());
  }
}

// Without an account nothing can be run, whatever the role.
TEST(Access, AnAccountIsNeededToSubmit) {
  World world{0, 4, [](const HttpRequest&) -> Result<Principal> {
                return Principal{.user = "remote", .roles = {Role::user}};
              }};
  const auto refused = world.ask_now(kOther, "POST", "/v1/jobs", submission());
  EXPECT_EQ(refused.status, 403);
  EXPECT_NE(refused.body.find("remote has no account"), std::string::npos) << refused.body;
  for (const auto* route : {"/v1/ships", "/v1/ships/pieces"})
    EXPECT_EQ(world.ask_now(kOther, "POST", route).status, 403) << route;
}

TEST(Access, ACallerTheTransportDoesNotTellIsRefused) {
  World world{0};
  HttpRequest request{.peer = {.origin = "192.0.2.1"}, .method = "GET", .path = "/v1/jobs"};
  const auto admission = world.loop.on([&] { return world.api->admission(); });
  EXPECT_EQ(admission(request).error().code, ErrorCode::forbidden);
}

}  // namespace
}  // namespace paceline
