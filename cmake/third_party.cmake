# Debian 12's packages as targets. A new one is a decision: add its page to docs/decisions/.

find_package(Threads REQUIRED)
find_package(Boost 1.74 REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(SQLiteCpp REQUIRED)
find_package(ZLIB REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(CLI11 REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(tl-expected REQUIRED)
find_package(GTest REQUIRED)
find_package(rapidcheck REQUIRED)
find_package(benchmark REQUIRED)
find_package(mimalloc REQUIRED)
find_package(PkgConfig REQUIRED)
# The build of Lua whose errors are C++ exceptions: they unwind our frames.
pkg_check_modules(lua REQUIRED IMPORTED_TARGET lua5.4-c++)
pkg_check_modules(libarchive REQUIRED IMPORTED_TARGET libarchive)

# Asio and Beast are compiled once, here, instead of in every file that includes them.
# Boost 1.74 forgets to include <utility>, and does not know that clang 14 has coroutines.
add_library(paceline_boost STATIC ${CMAKE_SOURCE_DIR}/cmake/boost.cpp)
target_compile_definitions(paceline_boost PUBLIC
  BOOST_ASIO_SEPARATE_COMPILATION BOOST_BEAST_SEPARATE_COMPILATION
  BOOST_ASIO_HAS_CO_AWAIT BOOST_ASIO_HAS_STD_COROUTINE)
# gcc 12 takes the allocator of Asio's coroutine frames for a mismatched pair of new and delete.
# Precompiled headers bring those two along, and are only used where nothing is included before them.
set(not_precompiled "$<NOT:$<BOOL:$<TARGET_PROPERTY:PRECOMPILE_HEADERS_REUSE_FROM>>>")
target_compile_options(paceline_boost PUBLIC -Wno-mismatched-new-delete
  "$<${not_precompiled}:SHELL:-include utility>" "$<${not_precompiled}:SHELL:-include coroutine>")
target_link_libraries(paceline_boost PUBLIC Boost::headers Threads::Threads)

# The thread sanitizer does not understand fences; Asio has locks where it matters.
if(PACELINE_SANITIZE MATCHES "thread")
  target_compile_definitions(paceline_boost PUBLIC BOOST_ASIO_DISABLE_FENCED_BLOCK)
endif()
