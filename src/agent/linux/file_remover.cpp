#include "agent/linux/file_remover.hpp"

#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <cerrno>
#include <chrono>
#include <mutex>
#include <utility>

namespace paceline::agent {
namespace {

constexpr std::chrono::seconds kAgain{1};

bool is_gone(const std::string& file) {
  return ::unlink(file.c_str()) == 0 || errno == ENOENT || errno == ENOTDIR;
}

}  // namespace

struct FileRemover::Left {
  std::mutex mutex;
  std::size_t under_way = 0;       // chores that have not looked yet
  std::vector<std::string> files;  // that could not be removed
};

FileRemover::FileRemover(boost::asio::io_context& io, Chores& chores)
    : chores_(chores), again_(io), left_(std::make_shared<Left>()) {}

FileRemover::~FileRemover() = default;

void FileRemover::remove(std::vector<std::string> files) {
  {
    const std::lock_guard lock(left_->mutex);
    ++left_->under_way;
  }
  chores_.add([left = left_, files = std::move(files)]() mutable {
    std::erase_if(files, is_gone);
    const std::lock_guard lock(left->mutex);
    --left->under_way;
    left->files.insert(left->files.end(), files.begin(), files.end());
  });
  try_again_soon();
}

void FileRemover::try_again_soon() {
  if (again_.set()) return;
  again_.after(kAgain, [this] {
    std::vector<std::string> files;
    bool under_way = false;
    {
      const std::lock_guard lock(left_->mutex);
      files.swap(left_->files);
      under_way = left_->under_way > 0;
    }
    if (!files.empty()) return remove(std::move(files));
    if (under_way) try_again_soon();
  });
}

}  // namespace paceline::agent
