#include "agent/linux/footprint.hpp"

#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

namespace paceline::agent {
namespace {

// Code is as its file has it: nothing is lost with a page of it.
int forget_code(dl_phdr_info* object, std::size_t, void*) {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const auto& part = object->dlpi_phdr[i];
    const bool code =
        part.p_type == PT_LOAD && (part.p_flags & PF_X) != 0 && (part.p_flags & PF_W) == 0;
    if (!code) continue;
    const std::uintptr_t begin = (object->dlpi_addr + part.p_vaddr) / page * page;
    const std::uintptr_t end = object->dlpi_addr + part.p_vaddr + part.p_memsz;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the loader tells addresses as numbers
    ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
  }
  return 0;
}

}  // namespace

void forget_start_code() { ::dl_iterate_phdr(forget_code, nullptr); }

}  // namespace paceline::agent
