// As which account a machine runs a job. The server's own machine is told uid and groups. A node that
// joined over the network is told a name: the numbers of two machines need not mean the same person,
// so it looks the name up among its own accounts, and runs nobody's job as somebody else.
//
//   AccountBook book(Accounts::by_name, "gpu-3");
//   const FoundUid found = book.must_ask() ? find_uid(launch.user) : FoundUid{};
//   if (auto known = book.identify(launch, found); !known) …    // refused for this job, in one sentence
//
// The functions that find something ask the name service, which may take its time or hang.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "model/worker.hpp"

namespace paceline::agent {

enum class Accounts {
  as_told,           // by uid and groups of the launch
  by_name,           // by the launch's user, whatever uid it says; but nobody's as root
  by_name_and_root,  // the same, and root's as root
};

// The uid of an account of this machine; nothing: there is none. Errors: unavailable: the name
// service doesn't answer.
using FoundUid = Result<std::optional<std::uint32_t>>;
FoundUid find_uid(const std::string& user);
// The login name of an account; nothing: there is none.
std::optional<std::string> find_name(std::uint32_t uid);
// The same; its number: it has none.
std::string find_user(std::uint32_t uid);
// The group of an account; the user's number: it has none.
std::uint32_t find_gid(std::uint32_t uid);

class AccountBook {
 public:
  // The agent's own account.
  struct Machine {
    std::uint32_t uid = 0;
    std::string user;
  };
  static Machine this_machine();

  AccountBook(Accounts accounts, std::string node, Machine machine = this_machine());

  // Does identify() have to be told what find_uid() says of the launch's user?
  [[nodiscard]] bool must_ask() const { return is_named() && machine_.uid == 0; }
  // Makes the launch one of an account of this machine. Root's agent runs a job as root only
  // where that is said (by_name_and_root), another user's agent none but that user's. `found` counts
  // only where it must_ask(). Errors: conflict (may_help): this machine does not start jobs of the user;
  // unavailable (may_help): nobody knows now.
  Result<void> identify(WorkerLaunch& launch, const FoundUid& found);

  // NodeSpec::only_user.
  [[nodiscard]] std::string only_user() const;
  // NodeSpec::strangers.
  [[nodiscard]] std::vector<std::string> strangers() const;
  // What find_uid() says now of a stranger; true if that is none any more.
  bool look_again(const std::string& user, const FoundUid& found);

 private:
  [[nodiscard]] bool is_named() const { return accounts_ != Accounts::as_told; }
  [[nodiscard]] bool may_be(std::uint32_t uid) const {
    return uid != 0 || accounts_ == Accounts::by_name_and_root;
  }
  Result<void> refuse(const std::string& user, std::string why);

  Accounts accounts_;
  std::string node_;
  Machine machine_;
  std::set<std::string> strangers_;
};

}  // namespace paceline::agent
