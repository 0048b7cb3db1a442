// What programs a shell text calls, as far as that can be told without running it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace paceline {

// The simple commands in `text`, each as its words without quotes. Variables stay as they are
// written; what stands in a substitution or a here-document is no command of its own.
//
//   simple_commands("cd a && torchrun t.py  # go")  // {{"cd", "a"}, {"torchrun", "t.py"}}
std::vector<std::vector<std::string>> simple_commands(std::string_view text);

}  // namespace paceline
