// A private file of JSON that the server keeps as a whole: it is read once, and replaced before
// anybody hears of a change. Behind the JSON stands its SHA-256, by which damage is known; a file
// without one is an older server's.
//
//   const BookFile file(dir / "tokens", {.what = "tokens", .remedy = "make new tokens"});
//   if (auto read = file.load([&](const Json& json) { return take(json); }); !read) …
//   if (auto kept = file.save(json.take()); !kept) return fail(kept.error());
#pragma once

#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "wire/json.hpp"

namespace paceline {

// Of a digest in hexadecimal.
inline constexpr std::size_t kDigestBytes = 64;

class BookFile {
 public:
  // What is in it, and what to do once it is lost, for sentences.
  struct Words {
    std::string what;    // "tokens"
    std::string remedy;  // "make new tokens"
  };
  using Take = std::function<Result<void>(const Json&)>;

  BookFile(std::filesystem::path path, Words words)
      : path_(std::move(path)), words_(std::move(words)) {}

  // Hands on what is there; nothing is: nothing is handed on. Errors: data: it is damaged, or `take`
  // refuses it; those of read_private().
  Result<void> load(const Take& take) const;
  // `json`: one JSON value without a line feed. Errors: conflict: it is too much; storage. Then nothing
  // changes.
  [[nodiscard]] Result<void> save(std::string_view json) const;

 private:
  std::filesystem::path path_;
  Words words_;
};

}  // namespace paceline
