#include "files/archive_library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

namespace paceline {
namespace {

constexpr const char* kName = "libarchive.so.13";

Result<ArchiveLibrary> load() {
  void* const library = ::dlopen(kName, RTLD_NOW | RTLD_LOCAL);
  ArchiveLibrary calls;
  bool all = library != nullptr;
#define PACELINE_FIND(name) \
  all = all && (calls.name = reinterpret_cast<decltype(calls.name)>(::dlsym(library, #name)));
  PACELINE_ARCHIVE_CALLS(PACELINE_FIND)
#undef PACELINE_FIND
  if (all) return calls;
  const char* const why = ::dlerror();
  return fail(
      ErrorCode::unavailable,
      fmt::format("Packed files need {}: {}.", kName, why == nullptr ? "it is another one" : why),
      "Install the Debian package libarchive13.");
}

}  // namespace

Result<const ArchiveLibrary*> archive_library() {
  static const auto loaded = load();
  if (!loaded) return fail(loaded.error());
  return &*loaded;
}

}  // namespace paceline
