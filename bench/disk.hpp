// A store in a fresh directory on the disk of the working directory, gone with its owner.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <memory>
#include <string>

#include "store/sqlite/sqlite_store.hpp"

namespace paceline {

class Disk {
 public:
  Disk() {
    std::string name = (std::filesystem::current_path() / "paceline_bench_XXXXXX").string();
    dir_ = ::mkdtemp(name.data());
    open();
  }
  ~Disk() {
    store_.reset();
    std::filesystem::remove_all(dir_);
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
  std::unique_ptr<SqliteStore> store_;
};

}  // namespace paceline
