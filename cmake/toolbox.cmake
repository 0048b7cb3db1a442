# How everything of ours is compiled and linked: warnings, sanitizers, compiler cache, linker.

add_library(paceline_warnings INTERFACE)
add_library(paceline_options INTERFACE)
target_link_libraries(paceline_options INTERFACE paceline_warnings)
target_include_directories(paceline_options INTERFACE ${CMAKE_SOURCE_DIR}/src)
target_compile_options(paceline_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Werror)
# A product and a sum are rounded each, on every machine: where they are fused, as by default on ARM, a simulation comes out otherwise.
target_compile_options(paceline_warnings INTERFACE -ffp-contract=off)
# What gcc 12 guesses while it optimises is often wrong about its own std::string and std::optional (GCC bugs 105329, 105562,
# 105651): overflows are not looked for, the rest is told but doesn't end the build.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(paceline_warnings INTERFACE
    -Wno-array-bounds -Wno-restrict -Wno-stringop-overflow -Wno-stringop-overread
    -Wno-error=maybe-uninitialized -Wno-error=free-nonheap-object -Wno-error=dangling-pointer)
endif()

# To gcc every file that is compiled as one with others looks like a header.
if((PACELINE_UNITY OR PACELINE_TEST_UNITY) AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(paceline_warnings INTERFACE -Wno-subobject-linkage)
endif()

if(PACELINE_SANITIZE)
  add_compile_options(-fsanitize=${PACELINE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${PACELINE_SANITIZE})
  # clang 14 can't assemble the check of function types in coroutines (LLVM issue 49689).
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND PACELINE_SANITIZE MATCHES undefined)
    add_compile_options(-fno-sanitize=function)
  endif()
endif()

# The cache works across checkouts: paths are hashed relative to the source folder.
find_program(CCACHE ccache)
if(CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
    CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1
    CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE})
endif()

# The fastest linker that is there; all of them give the same program.
find_program(MOLD mold)
find_program(LLD ld.lld)
if(MOLD)
  add_link_options(-fuse-ld=mold)
elseif(LLD)
  add_link_options(-fuse-ld=lld)
endif()
