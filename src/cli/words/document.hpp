// An answer of the API as a tree that keeps its keys in order, and readers that never throw: what
// is absent or of another kind is nothing, so that a newer server's answers can be read too.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace paceline {

using Document = nlohmann::ordered_json;

// Errors: unavailable (not JSON: it was not Paceline that answered).
Result<Document> parse_document(std::string_view text);

// The value under a key; a null document where there is none.
const Document& member(const Document& object, std::string_view key);

std::string text_of(const Document& object, std::string_view key);  // "" where there is none
std::optional<double> number_of(const Document& object, std::string_view key);
std::int64_t whole_of(const Document& object, std::string_view key);  // 0 where there is none
bool flag_of(const Document& object, std::string_view key);           // false where there is none
// The elements of a list; none where there is no list.
const Document::array_t& list_of(const Document& object, std::string_view key);

}  // namespace paceline
