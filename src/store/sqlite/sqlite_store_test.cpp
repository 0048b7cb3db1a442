#include "store/sqlite/sqlite_store.hpp"

#include <gtest/gtest.h>

#include "store/sqlite/scratch_testing.hpp"
#include "store/store_contract.hpp"

namespace paceline {
namespace {

struct SqliteHarness {
  SqliteHarness() { reopen(); }
  Store& store() { return *opened; }
  void reopen() {
    opened.reset();
    opened = SqliteStore::open(scratch.dir()).value();
  }

  Scratch scratch;
  std::unique_ptr<SqliteStore> opened;
};

INSTANTIATE_TYPED_TEST_SUITE_P(Sqlite, StoreContract, SqliteHarness);

}  // namespace
}  // namespace paceline
