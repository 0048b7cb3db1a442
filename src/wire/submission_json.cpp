#include "wire/submission_json.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/utf8.hpp"
#include "wire/json.hpp"
#include "wire/json_writer.hpp"
#include "wire/launch_json.hpp"
#include "wire/notify_json.hpp"
#include "wire/spec_json.hpp"

namespace paceline {
namespace {

bool is_script(std::string_view word) { return word.ends_with(".py") || word.ends_with(".sh"); }

// The file name of the first script among the words, else of the program: "train.py", "make".
std::string default_name(const LaunchSpec& launch) {
  if (launch.shell) return "run";
  const auto& words = launch.command;
  const auto script = std::ranges::find_if(words, is_script);
  const std::string_view word = script == words.end() ? words.front() : *script;
  std::string name(word.substr(word.find_last_of('/') + 1, kNameLengthMax));
  name.resize(name.size() - utf8_unfinished(name));
  return !name.empty() && is_visible(name) ? name : "job";
}

}  // namespace

Result<SubmissionBody> read_submission(std::string_view body) {
  const auto json = parse_json(body);
  if (!json) return fail(json.error());
  ObjectReader reader(*json, "body");
  reader.require({"launch"});
  const auto* launch_json = reader.find("launch");
  const auto* spec_json = reader.find("spec");
  const auto* notify_json = reader.find("notify");
  if (auto read = reader.finish(); !read) return fail(std::move(read.error()));
  auto launch = read_launch(*launch_json);
  if (!launch) return fail(std::move(launch.error()));
  JobSpec defaults;
  defaults.name = default_name(*launch);
  auto spec =
      spec_json == nullptr ? std::move(defaults) : read_spec(*spec_json, std::move(defaults));
  if (!spec) return fail(std::move(spec.error()));
  auto notify = notify_json == nullptr ? Notify() : read_notify(*notify_json);
  if (!notify) return fail(std::move(notify.error()));
  return SubmissionBody{std::move(*spec), std::move(*launch), std::move(*notify)};
}

std::string submission_body(const SubmissionBody& submission) {
  JsonWriter json;
  json.begin_object().key("spec");
  write_spec(json, submission.spec);
  json.key("launch");
  write_launch(json, submission.launch);
  if (!submission.notify.to.empty()) {
    json.key("notify");
    write_notify(json, submission.notify);
  }
  json.end_object();
  return json.take();
}

}  // namespace paceline
