// What programs a shell text calls, as far as that can be told without running it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace paceline {

// The simple commands in `text`, each as its words without quotes. Variables stay as they are
// written; what stands in a substitution or a here-document is no command of its own.
//
//   simple_commands("cd a && torchrun t.py  # go")  // {{"cd", "a"}, {"torchrun", "t.py"}}
std::vector<std::vector<std::string>> simple_commands(std::string_view text);

// Whether a program is a shell: "bash", "/bin/sh".
bool is_shell(const std::string& program);

// The text that a shell is given to run: "a; b" of `bash -euo pipefail -c 'a; b'`. REQUIRES:
// is_shell(argv[0]).
std::optional<std::string> shell_text(std::span<const std::string> argv);

}  // namespace paceline
