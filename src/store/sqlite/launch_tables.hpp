// What starts jobs: a row for each, and each environment once, however many jobs share it. For
// store/sqlite alone; throws SQLite::Exception and Damage.
#pragma once

#include <optional>
#include <string>

#include "model/ids.hpp"
#include "model/launch.hpp"
#include "store/sqlite/query.hpp"

namespace paceline {

class LaunchTables {
 public:
  explicit LaunchTables(SQLite::Database& db);

  void put(JobId job, const LaunchSpec& launch);
  // Its environment and setup; an environment goes with the last job that has it. What is left is
  // for people to read, and has no sum.
  void forget_secrets(JobId job);
  std::optional<LaunchSpec> find(JobId job);
  void drop(JobId job);

 private:
  std::int64_t environment_id(const std::string& body);

  Query find_environment_, insert_environment_, last_id_, drop_environment_;
  Query put_, find_, environment_of_, blank_, delete_;
};

}  // namespace paceline
