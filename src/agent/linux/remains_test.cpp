#include "agent/linux/remains.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "agent/linux/files.hpp"
#include "agent/linux/marks.hpp"
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

}  // namespace
}  // namespace paceline::agent
