#include "agent/linux/ending_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include "agent/linux/files.hpp"

namespace paceline::agent {
namespace {
constexpr off_t kReserved = 4096;
constexpr std::size_t kMessageMax = 2048;
}  // namespace

EndingFile::EndingFile(int claim)
    : claim_(claim),
      fd_(::openat(claim, "status.new", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)) {
  if (fd_) ::posix_fallocate(fd_.get(), 0, kReserved);
}

void EndingFile::write(const WorkerEnding& ending) {
  WorkerEnding bounded = ending;
  bounded.message.resize(std::min(bounded.message.size(), kMessageMax));
  const std::string text = to_text(bounded);
  if (fd_ && write_all(fd_.get(), text) &&
      ::ftruncate(fd_.get(), static_cast<off_t>(text.size())) == 0)
    ::renameat(claim_, "status.new", claim_, "status");
}

}  // namespace paceline::agent
