#include "trust/openssl_library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <string>

#include "base/check.hpp"

namespace paceline {
namespace {

constexpr const char* kName = "libssl.so.3";  // which brings libcrypto

struct Library {
  void* handle = nullptr;
  std::string why;  // it isn't there
};

Library load() {
  void* const handle = ::dlopen(kName, RTLD_NOW | RTLD_LOCAL);
  if (handle != nullptr) return {handle, {}};
  const char* const why = ::dlerror();
  return {nullptr, why == nullptr ? "it can't be loaded" : why};
}

const Library& library() {
  static const Library loaded = load();
  return loaded;
}

}  // namespace

Result<void> openssl_library() {
  if (library().handle != nullptr) return {};
  return fail(ErrorCode::unavailable, fmt::format("TLS needs {}: {}.", kName, library().why),
              "Install the Debian package libssl3.");
}

void* openssl_symbol(const char* name) {
  check(library().handle != nullptr, "OpenSSL is there (the Debian package libssl3)");
  void* const found = ::dlsym(library().handle, name);
  check(found != nullptr, "OpenSSL is of version 3");
  return found;
}

}  // namespace paceline
