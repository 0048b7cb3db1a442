// The fields of a job as a script reads them: `job.remaining`.
#pragma once

#include <lua.hpp>
#include <string>
#include <string_view>

#include "model/state.hpp"

namespace paceline {

struct JobField {
  std::string_view name;
  void (*push)(lua_State* lua, const Snapshot& snapshot, const Job& job);  // nil: unknown
};

// nullptr if a job has no such field.
const JobField* find_job_field(std::string_view name);

// The field that a mistyped name may stand for, and all names: "did you mean 'workers'?".
std::string job_field_hint(std::string_view name);

// Sets every field in the table on top.
void set_job_fields(lua_State* lua, const Snapshot& snapshot, const Job& job);

void push_text(lua_State* lua, std::string_view text);

}  // namespace paceline
