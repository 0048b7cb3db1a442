#include "app/own_measures.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <system_error>

namespace paceline {
namespace {

std::uint64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::uint64_t pages = 0, resident = 0;
  file >> pages >> resident;
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

std::uint64_t size_of(const std::filesystem::path& file) {
  std::error_code missing;
  const auto size = std::filesystem::file_size(file, missing);
  return missing ? 0 : size;
}

}  // namespace

Measures measure_own(const std::filesystem::path& directory) {
  Measures measures;
  rusage used{};
  if (::getrusage(RUSAGE_SELF, &used) == 0)
    measures.cpu_seconds = seconds(used.ru_utime) + seconds(used.ru_stime);
  measures.resident_bytes = resident_bytes();
  std::error_code failed;
  const std::filesystem::directory_iterator open_files("/proc/self/fd", failed);
  if (!failed)
    measures.open_files =
        static_cast<std::uint64_t>(std::distance(begin(open_files), end(open_files)));
  measures.database_bytes =
      size_of(directory / "paceline.db") + size_of(directory / "paceline.db-wal");
  const auto room = std::filesystem::space(directory, failed);
  if (!failed) measures.disk_free_bytes = room.available;
  return measures;
}

}  // namespace paceline
