// Commands of one kind: what several do alike is here once.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands/command.hpp"

namespace paceline {

// Does `act` for every word, complains about each that fails, and returns the first failure's exit
// code, else the first code that is not 0.
Result<int> for_each_word(Context& context, const std::vector<std::string>& words,
                          const std::function<Result<int>(Api&, const std::string&)>& act);
// The same for ids of jobs; nothing is done where one of the words is none.
Result<int> for_each_job(Context& context, const std::vector<std::string>& ids,
                         const std::function<Result<int>(Api&, std::uint32_t)>& act);

// A command that shows what the API answers at `target`: as `draw` says, or as it is for JSON.
using Draw = std::function<std::string(const Document&, const Output&, const Console&)>;
Command view_command(Command command, std::string_view target, const Draw& draw);

// A command without words: asks the API for something and tells of the answer.
using Ask = std::function<Result<Document>(Api&)>;
using Tell = std::function<std::string(const Document&)>;
Command plain_command(Command command, const Ask& ask, const Tell& tell);

// A command that posts a request to each of the jobs and tells what became of them.
Command request_command(Command command, std::string_view request);

}  // namespace paceline
