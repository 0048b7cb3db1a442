#include "agent/linux/gpu_faults.hpp"

#include <gtest/gtest.h>

namespace paceline::agent {
namespace {

GpuDevice gpu(std::uint32_t whole, std::uint64_t errors = 0) {
  GpuDevice device;
  device.whole = whole;
  device.uncorrected_errors = errors;
  return device;
}

TEST(GpuFaults, AnErrorOfTheGpuSetsItAndItsSlicesAside) {
  GpuFaults faults;
  GpuDevice slice = gpu(1);
  slice.kind = SlotKind::mig;
  faults.take({gpu(0), slice}, {{1, 79}, {1, 48}});
  EXPECT_EQ(faults.note(slice), "faulty: Xid 79, it has fallen off the bus");
  EXPECT_EQ(faults.note(gpu(0)), "");
  faults.take({gpu(0), slice}, {{0, 500}});
  EXPECT_EQ(faults.note(gpu(0)), "faulty: Xid 500");
  EXPECT_EQ(faults.note(slice), "faulty: Xid 79, it has fallen off the bus") << "the first one";
}

TEST(GpuFaults, WhatAProgramDidWrongDoesNot) {
  GpuFaults faults;
  faults.take({gpu(0)}, {{0, 13}, {0, 31}, {0, 43}, {0, 45}, {0, 68}, {0, 109}});
  EXPECT_EQ(faults.note(gpu(0)), "");
}

TEST(GpuFaults, MemoryErrorsCountFromTheFirstLookOnAndUntilAReset) {
  GpuFaults faults;
  faults.take({gpu(0, 7)}, {});
  EXPECT_EQ(faults.note(gpu(0, 7)), "") << "of long ago";
  faults.take({gpu(0, 8)}, {});
  EXPECT_EQ(faults.note(gpu(0, 8)), "faulty: 1 uncorrectable memory error");
  faults.take({gpu(0, 0)}, {});
  EXPECT_EQ(faults.note(gpu(0, 0)), "");
  faults.take({gpu(0, 2)}, {});
  EXPECT_EQ(faults.note(gpu(0, 2)), "faulty: 2 uncorrectable memory errors");
}

TEST(GpuFaults, RowsThatWaitForAResetOrCanNotBeRemapped) {
  const GpuFaults faults;
  GpuDevice device = gpu(0);
  device.remap_pending = true;
  EXPECT_EQ(faults.note(device), "faulty: rows of its memory wait to be remapped; reset it");
  device.remap_failed = true;
  EXPECT_EQ(faults.note(device), "faulty: rows of its memory could not be remapped");
}

}  // namespace
}  // namespace paceline::agent
