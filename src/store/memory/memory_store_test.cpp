#include "store/memory/memory_store.hpp"

#include <gtest/gtest.h>

#include "store/store_contract.hpp"

namespace paceline {
namespace {

struct MemoryHarness {
  Store& store() { return memory; }
  void reopen() {}

  MemoryStore memory;
};

INSTANTIATE_TYPED_TEST_SUITE_P(Memory, StoreContract, MemoryHarness);

TEST(MemoryStore, RefusesWritesWhenToldSo) {
  MemoryStore store;
  History history(1);
  const Error full{ErrorCode::storage, "The disk is full.", "", Retry::may_help};
  const auto batch = batch_of({history.next()});
  store.refuse_writes(full);
  EXPECT_EQ(store.append(batch).error(), full);
  EXPECT_EQ(store.checkpoint(history.state(), {}).error(), full);
  EXPECT_TRUE(store.entries(0, 10)->empty());
  store.accept_writes();
  EXPECT_TRUE(store.append(batch));
  EXPECT_TRUE(store.checkpoint(history.state(), {}));
}

}  // namespace
}  // namespace paceline
