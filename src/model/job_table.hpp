// Jobs by id. Ids are given in order and never again; a job that was taken out leaves its id
// behind, and no room. Finding one is O(1), going through them O(those that are there), and a job
// stays where it is in memory for as long as it is in the table.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <vector>

#include "model/ids.hpp"
#include "model/job.hpp"

namespace paceline {

// The largest id that a table takes. An id that is read from storage is checked against this.
inline constexpr std::uint32_t kJobIdMax = 1'000'000'000;

class JobTable {
 public:
  // In id order.
  class Iterator {
   public:
    using iterator_category = std::bidirectional_iterator_tag;
    using value_type = Job;
    using difference_type = std::ptrdiff_t;
    using pointer = const Job*;
    using reference = const Job&;

    Iterator() = default;
    Iterator(const JobTable* table, std::uint32_t id) : table_(table), id_(id) {}
    reference operator*() const { return table_->row_of(JobId{id_})->job; }
    pointer operator->() const { return &**this; }
    Iterator& operator++() { return id_ = table_->next(id_ + 1), *this; }
    Iterator& operator--() { return id_ = table_->before(id_ - 1), *this; }
    Iterator operator++(int) {
      const Iterator was = *this;
      return ++*this, was;
    }
    Iterator operator--(int) {
      const Iterator was = *this;
      return --*this, was;
    }
    friend bool operator==(const Iterator& a, const Iterator& b) { return a.id_ == b.id_; }

   private:
    const JobTable* table_ = nullptr;
    std::uint32_t id_ = 0;
  };

  JobTable() = default;
  JobTable(const JobTable& other);
  JobTable& operator=(const JobTable& other);
  JobTable(JobTable&&) = default;
  JobTable& operator=(JobTable&&) = default;

  // Those that are there.
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  // The largest id that was given, at most kJobIdMax.
  [[nodiscard]] std::uint32_t given() const { return given_; }
  void give(std::uint32_t ids) { given_ = std::max(given_, ids); }

  // nullptr: it is not there.
  [[nodiscard]] const Job* find(JobId id) const {
    const Row* row = row_of(id);
    return row ? &row->job : nullptr;
  }
  [[nodiscard]] Job* find(JobId id) {
    Row* row = row_of(id);
    return row ? &row->job : nullptr;
  }
  // REQUIRES: it is there.
  [[nodiscard]] Job& at(JobId id);
  // It was there, and was taken out.
  [[nodiscard]] bool has_left(JobId id) const {
    return id.value >= 1 && id.value <= given_ && !row_of(id);
  }

  [[nodiscard]] Iterator begin() const { return {this, next(1)}; }
  [[nodiscard]] Iterator end() const { return {this, given_ + 1}; }
  // From the first id after that one on.
  [[nodiscard]] Iterator after(JobId id) const {
    return {this, id.value >= given_ ? given_ + 1 : next(id.value + 1)};
  }
  [[nodiscard]] auto rbegin() const { return std::make_reverse_iterator(end()); }
  [[nodiscard]] auto rend() const { return std::make_reverse_iterator(begin()); }

  // In the place of the one with its id; its id counts as given. REQUIRES: it is 1 to kJobIdMax.
  Job& put(Job job);
  // Nothing, where it is not there.
  void take_out(JobId id);

  // Room for a note of the code that keeps indexes over the table: no part of the job's value.
  // REQUIRES: the job is there.
  [[nodiscard]] std::uint8_t& marks(JobId id);

  friend bool operator==(const JobTable& a, const JobTable& b);

 private:
  static constexpr std::uint32_t kPage = 256;
  struct Row {
    Job job;
    std::uint8_t marks = 0;
  };
  struct Page {
    std::array<std::unique_ptr<Row>, kPage> rows;
    std::uint32_t used = 0;
  };

  [[nodiscard]] Row* row_of(JobId id) const {
    const std::uint32_t index = id.value - 1;  // of no id: beyond all pages
    const std::size_t page = index / kPage;
    if (page >= pages_.size() || !pages_[page]) return nullptr;
    return pages_[page]->rows[index % kPage].get();
  }
  // The first id from there on, or the last up to there, whose job is there; beyond the ends: none.
  [[nodiscard]] std::uint32_t next(std::uint32_t id) const;
  [[nodiscard]] std::uint32_t before(std::uint32_t id) const;

  std::vector<std::unique_ptr<Page>> pages_;
  std::size_t size_ = 0;
  std::uint32_t given_ = 0;
};

}  // namespace paceline
