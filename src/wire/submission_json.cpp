#include "wire/submission_json.hpp"

#include <nlohmann/json.hpp>

#include "wire/json.hpp"
#include "wire/json_writer.hpp"
#include "wire/launch_json.hpp"
#include "wire/spec_json.hpp"

namespace paceline {

Result<SubmissionBody> read_submission(std::string_view body) {
  const auto json = parse_json(body);
  if (!json) return fail(json.error());
  ObjectReader reader(*json, "the body");
  reader.require({"launch"});
  const auto* launch_json = reader.find("launch");
  const auto* spec_json = reader.find("spec");
  if (auto read = reader.finish(); !read) return fail(std::move(read.error()));
  auto launch = read_launch(*launch_json);
  if (!launch) return fail(std::move(launch.error()));
  auto spec = spec_json == nullptr ? JobSpec{} : read_spec(*spec_json);
  if (!spec) return fail(std::move(spec.error()));
  return SubmissionBody{std::move(*spec), std::move(*launch)};
}

std::string submission_body(const SubmissionBody& submission) {
  JsonWriter json;
  json.begin_object().key("spec");
  write_spec(json, submission.spec);
  json.key("launch");
  write_launch(json, submission.launch);
  json.end_object();
  return json.take();
}

}  // namespace paceline
