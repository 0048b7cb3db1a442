#include "sim/traces/profiles.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "sim/traces/read_trace.hpp"

namespace paceline::sim {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Key;

class ProfilesIn : public ::testing::Test {
 protected:
  ProfilesIn() {
    std::string name = (fs::temp_directory_path() / "paceline-profiles-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    write("toy/placements.csv",
          "placement,local_bsz,step_time,sync_time\n"
          "1,10,1.0,0.0\n"
          "12,10,2.0,0.5\n"
          "21,10,4.0,1.5\n");
    write("toy/scalability.csv",
          "num_nodes,num_replicas,local_bsz,step_time,sync_time\n"
          "2,3,10,6.0,1.0\n"
          "8,16,10,8.0,2.0\n");
    write("toy/validation-10.csv",
          "progress,iteration,metric,grad_sqr,grad_var\n"
          "100.0,100,0.5,1.5e-3,2.0\n"
          "200.5,200,0.75,0.0,3.0\n");
  }
  ~ProfilesIn() override { fs::remove_all(folder_); }

  void write(const std::string& name, const std::string& text) const {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name) << text;
  }

  Result<Profiles> read() const { return read_profiles(folder_.string()); }

  // Without the folder's own name.
  std::string error() const {
    const auto profiles = read();
    if (profiles) return "was read";
    std::string text = profiles.error().message;
    for (std::size_t at; (at = text.find(folder_.string())) != std::string::npos;)
      text.replace(at, folder_.string().size(), "DIR");
    return text;
  }

  fs::path folder_;
};

TEST_F(ProfilesIn, AFolderAreRead) {
  write("toy/notes.txt", "passed over");
  write("README", "passed over");
  const auto profiles = read();
  ASSERT_TRUE(profiles.has_value()) << profiles.error().message;
  ASSERT_THAT(*profiles, ElementsAre(Key("toy")));
  const Profile& toy = profiles->at("toy");
  EXPECT_EQ(toy.application, "toy");
  EXPECT_EQ(toy.placements.at({1, 2}).at(10).seconds, 3.0) << "the mean of 12 and 21";
  EXPECT_EQ(toy.placements.at({1, 2}).at(10).sync_seconds, 1.0);
  EXPECT_EQ(toy.scales.at(2).at(3).at(10).seconds, 4.0) << "and of the 2 nodes with 3 replicas";
  EXPECT_EQ(toy.scales.at(8).at(16).at(10).seconds, 8.0);
  const auto& points = toy.validations.at(10);
  ASSERT_EQ(points.size(), 2U);
  EXPECT_EQ(points[1].progress, 200.5);
  EXPECT_EQ(points[1].metric, 0.75);
  EXPECT_EQ(points[0].grad_sqr, 0.0015);
  EXPECT_EQ(points[0].grad_var, 2.0);
  EXPECT_TRUE(toy.fit.has_value());
}

TEST_F(ProfilesIn, AFolderMayLackOneTableOfSteps) {
  fs::remove(folder_ / "toy/placements.csv");
  EXPECT_TRUE(read().has_value());
  fs::remove(folder_ / "toy/scalability.csv");
  EXPECT_EQ(error(), "The profile of 'toy' has no step times.");
}

TEST_F(ProfilesIn, AFolderNeedAValidation) {
  fs::remove(folder_ / "toy/validation-10.csv");
  EXPECT_EQ(error(), "The profile of 'toy' has no validation.");
  write("toy/validation-10.csv", "progress,iteration,metric,grad_sqr,grad_var\n");
  EXPECT_EQ(error(), "The profile of 'toy' has numbers out of their range.");
}

TEST_F(ProfilesIn, AFolderSayWhatIsWrong) {
  const std::string steps = "placement,local_bsz,step_time,sync_time\n";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "line 1 is no header."},
      {"placement,local_bsz,step_time\n", "line 1 has no column 'sync_time'."},
      {steps + "1,10,1\n", "line 2 has 3 columns, the first line has 4."},
      {steps + "1,10,1,\"0\n", "line 2 opens a quote that is never closed."},
      {steps + "1,10,nan,0\n", "line 2, column 'step_time': 'nan' is not a finite number."},
      {steps + "1,10,0,0\n", "line 2, column 'step_time': '0' is not above 0."},
      {steps + "1,10,1,-1\n", "line 2, column 'sync_time': '-1' is negative."},
      {steps + "1,10,1,2\n", "line 2, column 'sync_time': '2' is longer than its step."},
      {steps + "1,0,1,0\n", "line 2, column 'local_bsz': '0' is not above 0."},
      {steps + "1,2000000000,1,0\n", "line 2, column 'local_bsz': '2000000000' is too large."},
      {steps + "10,10,1,0\n",
       "line 2, column 'placement': '10' is not the replicas on each node, 1 to 9, such as 123."},
  };
  for (const auto& [text, said] : cases) {
    write("toy/placements.csv", text);
    EXPECT_EQ(error(), "'DIR/toy/placements.csv', " + said);
  }
}

TEST_F(ProfilesIn, AFolderSayWhatIsWrongWithScalesAndValidations) {
  write("toy/scalability.csv",
        "num_nodes,num_replicas,local_bsz,step_time,sync_time\n4,3,10,1,0\n");
  EXPECT_EQ(error(),
            "'DIR/toy/scalability.csv', line 2, column 'num_replicas': '3' is less than one for "
            "each node.");
  fs::remove(folder_ / "toy/scalability.csv");
  write("toy/validation-10.csv",
        "progress,iteration,metric,grad_sqr,grad_var\n5,5,1,1,1\n5,6,1,1,1\n");
  EXPECT_EQ(error(), "'DIR/toy/validation-10.csv', line 3, column 'progress': '5' does not rise.");
}

TEST_F(ProfilesIn, AFolderMayBeOfSeveralDevices) {
  write("toy/placements-rtx.csv", "placement,local_bsz,step_time,sync_time\n1,10,7,0\n");
  write("toy/scalability-dgx-ext.csv",
        "num_nodes,num_replicas,local_bsz,step_time,sync_time\n1,2,10,5,1\n");
  const auto profiles = read();
  ASSERT_TRUE(profiles.has_value()) << profiles.error().message;
  EXPECT_EQ(profiles->at("toy").placements.at({1, 2}).at(10).seconds, 3.0) << "named for none";
  const auto devices = read_device_profiles(folder_.string());
  ASSERT_TRUE(devices.has_value()) << devices.error().message;
  ASSERT_THAT(*devices, ElementsAre(Key("dgx-ext"), Key("rtx")));
  EXPECT_EQ(devices->at("rtx").at("toy").scales.at(1).at(1).at(10).seconds, 7.0);
  EXPECT_EQ(devices->at("dgx-ext").at("toy").scales.at(1).at(2).at(10).seconds, 5.0);
}

TEST(Profiles, AreAFolderOrATar) {
  EXPECT_EQ(read_device_profiles("src/sim/traces/testdata/toy.tar.gz").error().message,
            "'src/sim/traces/testdata/toy.tar.gz' holds no profiles of devices.");

  EXPECT_EQ(read_profiles("src/sim/traces/testdata/itp.csv").error().message,
            "'src/sim/traces/testdata/itp.csv' is neither a folder of profiles nor a tar of one.");
  EXPECT_EQ(read_profiles("src/sim/traces/testdata/two.tar.gz").error().message,
            "'src/sim/traces/testdata/two.tar.gz' holds no profiles.");
  EXPECT_EQ(read_profiles("src/sim/traces/testdata").error().message,
            "'src/sim/traces/testdata' holds no profiles.");
  EXPECT_EQ(read_profiles("nowhere").error().code, ErrorCode::not_found);
}

TEST(Profiles, InATarAreReadAlike) {
  const auto profiles = read_profiles("src/sim/traces/testdata/toy.tar.gz");
  ASSERT_TRUE(profiles.has_value()) << profiles.error().message;
  EXPECT_EQ(profiles->at("toy").scales.at(2).at(3).at(10).seconds, 2.0);
  const auto bad = read_profiles("src/sim/traces/testdata/bad.tar.gz");
  EXPECT_EQ(bad.error().message,
            "'profiles/toy/placements.csv' in 'src/sim/traces/testdata/bad.tar.gz', line 2, column "
            "'step_time': 'x' is not a finite number.");
}

// ---- the measurements themselves, where PACELINE_TRACES names a folder with them ----

class PublicProfiles : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* folder = std::getenv("PACELINE_TRACES");
    if (folder == nullptr) GTEST_SKIP() << "PACELINE_TRACES names no folder with public traces";
    const fs::path path = fs::path(folder) / "pollux/profiles.tar.xz";
    if (!fs::exists(path)) GTEST_SKIP() << "no pollux/profiles.tar.xz";
    auto profiles = read_profiles(path.string());
    ASSERT_TRUE(profiles.has_value()) << profiles.error().message;
    profiles_ = std::move(*profiles);
    folder_ = folder;
  }

  Profiles profiles_;
  fs::path folder_;
};

TEST_F(PublicProfiles, AreSix) {
  EXPECT_THAT(profiles_, ElementsAre(Key("bert"), Key("cifar10"), Key("deepspeech2"),
                                     Key("imagenet"), Key("ncf"), Key("yolov3")));
  EXPECT_EQ(reference_batch(profiles_["cifar10"]), 128);
  EXPECT_EQ(profiles_["cifar10"].validations.size(), 6U);
  EXPECT_EQ(profiles_["cifar10"].scales[6][6].size(), 11U);
  EXPECT_EQ(profiles_["bert"].scales.rbegin()->first, 16);
  EXPECT_EQ(step_time(profiles_["bert"], std::vector<std::int32_t>{1}, 4).seconds,
            0.45532354712486267);
}

TEST_F(PublicProfiles, AreFittedToATenthForHalfOfTheirPoints) {
  for (const auto& [application, profile] : profiles_) {
    const auto points = step_points(profile);
    EXPECT_LT(median_relative_error(*profile.fit, points), 0.1) << application;
  }
}

// What the gradients say of a validated batch must agree with the steps that it really took. Of
// yolov3's large batches they don't: its gradient falls steeply within the first stage, of which one
// mean was measured.
TEST_F(PublicProfiles, GradientsForetellTheSteps) {
  for (const auto& [application, profile] : profiles_) {
    for (const auto& [batch, points] : profile.validations) {
      if (application == "yolov3" && batch > 64) continue;
      const std::vector<std::int32_t> gang = packed(8, 4);
      const double step = static_cast<double>(batch) / samples_per_second(profile, gang, batch);
      const double steps = to_seconds(training_time(profile, gang, batch)) / step;
      EXPECT_NEAR(steps / points.back().iteration, 1, 0.1) << application << ' ' << batch;
    }
  }
}

TEST_F(PublicProfiles, GiveEveryJobOfTheWorkloadsADuration) {
  if (!fs::exists(folder_ / "pollux/workloads")) GTEST_SKIP() << "no pollux/workloads";
  for (const auto& entry : fs::directory_iterator(folder_ / "pollux/workloads")) {
    auto trace = read_trace(entry.path().string(), {});
    ASSERT_TRUE(trace.has_value());
    ASSERT_TRUE(set_durations(*trace, "workload-1.csv", profiles_, 4).has_value());
    for (const TraceJob& job : trace->jobs) {
      EXPECT_GT(job.duration, 10s) << job.name;
      EXPECT_LT(job.duration, 24h) << job.name;
    }
  }
}

}  // namespace
}  // namespace paceline::sim
