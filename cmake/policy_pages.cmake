# cmake -D OUT=pages.cpp -D FOLDER=src/policy -P policy_pages.cmake
# Writes policy_page(): the comment at the head of each policy's header, by the name in its first line. So the page that
# `paceline policy show` prints and the page an engineer reads are one text.
cmake_policy(VERSION 3.25)
file(GLOB headers ${FOLDER}/*.hpp)
set(pages "")
foreach(header IN LISTS headers)
  file(READ ${header} text)
  string(REGEX MATCH "^(//[^\n]*\n)+" page "${text}")
  string(REGEX REPLACE "(^|\n)// ?" "\\1" page "${page}")
  string(REGEX MATCH "^[a-z-]+" name "${page}")
  string(REGEX MATCH "^[a-z-]+\n" titled "${page}")
  if(titled)
    string(APPEND pages "  if (name == \"${name}\") return R\"page(${page})page\";\n")
  endif()
endforeach()
file(CONFIGURE OUTPUT ${OUT} CONTENT
"#include \"policy/pages.hpp\"

namespace paceline {

std::string_view policy_page(std::string_view name) {
@pages@  return {};
}

}  // namespace paceline
" @ONLY)
