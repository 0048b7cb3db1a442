#include "model/job_table.hpp"

#include <utility>

#include "base/check.hpp"

namespace paceline {

JobTable::JobTable(const JobTable& other) { *this = other; }

JobTable& JobTable::operator=(const JobTable& other) {
  if (this == &other) return *this;
  pages_.clear();
  pages_.reserve(other.pages_.size());
  for (const auto& page : other.pages_) {
    auto& copy = pages_.emplace_back();
    if (!page) continue;
    copy = std::make_unique<Page>();
    copy->used = page->used;
    for (std::size_t i = 0; i < kPage; ++i)
      if (page->rows[i]) copy->rows[i] = std::make_unique<Row>(*page->rows[i]);
  }
  size_ = other.size_;
  given_ = other.given_;
  return *this;
}

Job& JobTable::at(JobId id) {
  Job* job = find(id);
  check(job != nullptr, "the job exists");
  return *job;
}

Job& JobTable::put(Job job) {
  const JobId id = job.id;
  check(id.value >= 1 && id.value <= kJobIdMax, "a job has an id");
  if (Job* known = find(id)) return *known = std::move(job);
  const std::size_t index = id.value - 1;
  if (index / kPage >= pages_.size()) pages_.resize(index / kPage + 1);
  auto& page = pages_[index / kPage];
  if (!page) page = std::make_unique<Page>();
  auto& row = page->rows[index % kPage];
  row = std::make_unique<Row>();
  row->job = std::move(job);
  ++page->used;
  ++size_;
  give(id.value);
  return row->job;
}

void JobTable::take_out(JobId id) {
  if (!row_of(id)) return;
  const std::size_t index = id.value - 1;
  auto& page = pages_[index / kPage];
  page->rows[index % kPage].reset();
  --size_;
  if (--page->used == 0) page.reset();
}

std::uint8_t& JobTable::marks(JobId id) {
  Row* row = row_of(id);
  check(row != nullptr, "the job exists");
  return row->marks;
}

std::uint32_t JobTable::next(std::uint32_t id) const {
  while (id <= given_) {
    const std::size_t page = (id - 1) / kPage;
    if (page >= pages_.size()) break;
    if (!pages_[page])
      id = static_cast<std::uint32_t>((page + 1) * kPage + 1);
    else if (pages_[page]->rows[(id - 1) % kPage])
      return id;
    else
      ++id;
  }
  return given_ + 1;
}

std::uint32_t JobTable::before(std::uint32_t id) const {
  id = static_cast<std::uint32_t>(std::min<std::size_t>(id, pages_.size() * kPage));
  while (id >= 1) {
    const std::size_t page = (id - 1) / kPage;
    if (!pages_[page])
      id = static_cast<std::uint32_t>(page * kPage);
    else if (pages_[page]->rows[(id - 1) % kPage])
      return id;
    else
      --id;
  }
  return 0;
}

bool operator==(const JobTable& a, const JobTable& b) {
  return a.given_ == b.given_ && a.size_ == b.size_ && std::equal(a.begin(), a.end(), b.begin());
}

}  // namespace paceline
