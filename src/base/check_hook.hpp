// What a check that fails does before it ends the program. For code that reads what this program
// can't vouch for (store/failed_check.hpp); no other has a use for it.
#pragma once

#include <string_view>

namespace paceline {

// Returns, and the program ends; or throws. Called on the thread whose check failed.
using CheckHook = void (*)(std::string_view what);

// Once, before there is a second thread.
void set_check_hook(CheckHook hook);

}  // namespace paceline
