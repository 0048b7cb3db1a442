#include "agent/linux/remains.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "agent/linux/files.hpp"
#include "agent/linux/marks.hpp"
#include "agent/linux/memory_testing.hpp"
#include "agent/linux/process.hpp"
#include "agent/linux/testing.hpp"

namespace paceline::agent {
namespace {

// No file can be opened while it is there.
class NoDescriptors {
 public:
  NoDescriptors() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit none{0, before_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &none);
  }
  ~NoDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;

 private:
  rlimit before_{};
};

TEST(Remains, HaveNotEndedWhereNobodyCanLook) {
  const TempDirectory directory;
  ASSERT_TRUE(make_directories(directory / "agent/workers", 0700));
  const Remains remains({}, Marks(directory.path()).marker(key(1)));
  {
    const NoDescriptors here;
    EXPECT_FALSE(remains.sweep());
    EXPECT_FALSE(remains.have_ended());
  }
  EXPECT_TRUE(remains.have_ended());
  EXPECT_TRUE(remains.sweep());
}

// It may be one of them, or a stranger, who is left alone.
TEST(Remains, HaveNotEndedWhileAProcessDoesNotShowWhoseItIs) {
  const TempDirectory directory;
  ASSERT_TRUE(make_directories(directory / "agent/workers", 0700));
  const Remains remains({}, Marks(directory.path()).marker(key(1)));
  SilentProcess silent;
  if (!silent.is_silent()) GTEST_SKIP() << "no file systems of one's own here";
  for (int i = 0; i < 1000; ++i) {
    EXPECT_FALSE(remains.sweep());
    EXPECT_FALSE(remains.have_ended());
  }
  EXPECT_TRUE(is_alive(identify(silent.pid())));
  silent.end();
  EXPECT_TRUE(eventually([&] { return remains.sweep(); }));
}

}  // namespace
}  // namespace paceline::agent
