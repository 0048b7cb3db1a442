// As which account a machine runs a job. The server's own machine is told uid and groups. A node that
// joined over the network is told a name: the numbers of two machines need not mean the same person,
// so it looks the name up among its own accounts, and runs nobody's job as somebody else.
//
//   AccountBook book(Accounts::by_name, "gpu-3");
//   if (auto known = book.identify(launch); !known) …    // refused for this job, in one sentence
#pragma once

#include <cstdint>
#include <functional>
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
Result<std::optional<std::uint32_t>> find_uid(const std::string& user);
// The login name of an account; its number: it has none.
std::string find_user(std::uint32_t uid);

class AccountBook {
 public:
  // What there is to ask; as the machine has it, unless a test says otherwise.
  struct Machine {
    std::uint32_t uid = 0;  // the agent's own
    std::string user;       // the same by name
    std::function<Result<std::optional<std::uint32_t>>(const std::string&)> find = find_uid;
  };
  static Machine this_machine();

  AccountBook(Accounts accounts, std::string node, Machine machine = this_machine());

  // Makes the launch one of an account of this machine. Root's agent runs a job as root only
  // where that is said (by_name_and_root), another user's agent none but that user's. Errors: conflict (may_help): this machine does not start
  // jobs of the user; unavailable (may_help): nobody knows now.
  Result<void> identify(WorkerLaunch& launch);

  // NodeSpec::only_user.
  [[nodiscard]] std::string only_user() const;
  // NodeSpec::strangers.
  [[nodiscard]] std::vector<std::string> strangers() const;
  // Asks again about every stranger; true if one has an account by now.
  bool look_again();

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
