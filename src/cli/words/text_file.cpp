#include "cli/words/text_file.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace paceline {
namespace {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

ErrorCode code_of(int reason) {
  if (reason == ENOENT || reason == ENOTDIR) return ErrorCode::not_found;
  return reason == EACCES ? ErrorCode::forbidden : ErrorCode::storage;
}

}  // namespace

Result<std::string> read_text_file(const std::string& path, std::size_t bytes_max,
                                   std::string_view noun, std::string_view hint) {
  const bool standard_input = path == "-";
  const auto name = standard_input ? std::string("standard input") : path;
  const auto unreadable = [&](int reason) {
    return fail(code_of(reason),
                fmt::format("The {} {} can't be read: {}.", noun, name, std::strerror(reason)),
                std::string(hint));
  };
  std::unique_ptr<std::FILE, CloseFile> opened;
  if (!standard_input) opened.reset(std::fopen(path.c_str(), "re"));
  if (!standard_input && !opened) return unreadable(errno);
  std::FILE* file = standard_input ? stdin : opened.get();
  std::string text(bytes_max + 1, '\0');
  errno = 0;
  text.resize(std::fread(text.data(), 1, text.size(), file));
  if (std::ferror(file) != 0) return unreadable(errno);
  return text;
}

}  // namespace paceline
