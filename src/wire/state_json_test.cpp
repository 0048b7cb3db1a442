#include "wire/state_json.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "wire/model_testing.hpp"

namespace paceline {
namespace {

template <class T>
std::string text_of(void (*write)(JsonWriter&, const T&), const T& value) {
  JsonWriter json;
  write(json, value);
  return json.take();
}

// What a checkpoint does: every part on its own, and back.
StateParts stored_and_read(const StateParts& parts) {
  auto read = read_state_header(text_of(write_state_header, parts)).value();
  for (const auto& node : parts.nodes)
    read.nodes.push_back(read_stored_node(text_of(write_stored_node, node)).value());
  for (const auto& job : parts.jobs)
    read.jobs.put(read_stored_job(text_of(write_stored_job, job)).value());
  return read;
}

RC_GTEST_PROP(StateJson, ReadsBackExactlyWhatItWrote, (std::uint64_t seed)) {
  Rng rng(seed);
  const auto parts = random_value<StateParts>(rng);
  RC_ASSERT(stored_and_read(parts) == parts);
}

TEST(StateJson, OfANewState) {
  EXPECT_EQ(text_of(write_state_header, StateParts{}), R"({"seq":0,"round":0,"at":0.0})");
}

TEST(StateJson, OfANodeWithAnEndingLeaseThatIsPromised) {
  Node node;
  node.spec.name = "box";
  node.up = true;
  node.slots.resize(2);
  node.slots[1] = {Lease{{JobId{7}, Generation{2}, 0}, true},
                   ProcessKey{JobId{9}, Generation{1}, 3}};
  EXPECT_EQ(text_of(write_stored_node, node),
            R"({"id":0,"spec":{"name":"box","cpus":0.0,"memory_bytes":0},"up":true,"slots":[{},)"
            R"({"lease":{"job":7,"generation":2,"rank":0,"ending":true},)"
            R"("promise":{"job":9,"generation":1,"rank":3}}]})");
}

TEST(StateJson, OfAWaitingJobIsShort) {
  Job job;
  job.id = JobId{3};
  job.spec = std::make_shared<const JobSpec>();
  EXPECT_LT(text_of(write_stored_job, job).size(), 900U);
}

TEST(StateJson, SaysWhatIsWrongWhere) {
  const auto read = read_stored_node(R"({"id":0,"spec":{"name":"box","cpus":0.0}})");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, ErrorCode::data);
  EXPECT_EQ(read.error().message, "at byte 39, the key 'memory_bytes' is missing");
  EXPECT_FALSE(read_stored_job("[]"));
  EXPECT_FALSE(read_state_header(R"({"seq":0,"round":0,"at":0.0} x)"));
}

TEST(StateJson, OfValues) {
  const std::map<std::string, double> values = {{"accuracy", 0.91}, {"loss", 0.3}};
  JsonWriter json;
  write_values(json, values);
  EXPECT_EQ(json.text(), R"({"accuracy":0.91,"loss":0.3})");
  EXPECT_EQ(read_values(json.text()).value(), values);
}

}  // namespace
}  // namespace paceline
