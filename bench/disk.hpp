// A store in a fresh directory on the disk of the working directory, gone with its owner; or in the
// directory that $PACELINE_BENCH_DIR names, where it stays.
#pragma once

#include <stdlib.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include "store/sqlite/sqlite_store.hpp"

namespace paceline {

class Disk {
 public:
  Disk() {
    if (const char* dir = std::getenv("PACELINE_BENCH_DIR"); dir != nullptr) {
      dir_ = dir;
      stays_ = true;
    } else {
      std::string name = (std::filesystem::current_path() / "paceline_bench_XXXXXX").string();
      dir_ = ::mkdtemp(name.data());
    }
    open();
  }
  ~Disk() {
    store_.reset();
    if (!stays_) std::filesystem::remove_all(dir_);
  }
  Disk(const Disk&) = delete;
  Disk& operator=(const Disk&) = delete;

  void open() {
    store_.reset();
    store_ = SqliteStore::open(dir_).value();
  }
  SqliteStore& store() { return *store_; }
  [[nodiscard]] std::filesystem::path database() const { return dir_ / "paceline.db"; }

 private:
  std::filesystem::path dir_;
  bool stays_ = false;
  std::unique_ptr<SqliteStore> store_;
};

}  // namespace paceline
