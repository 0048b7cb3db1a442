// The book of nodes (joining/node_book.hpp) in a private file of the server's, which is replaced as a
// whole before anybody hears of a change.
#pragma once

#include <filesystem>

#include "base/result.hpp"
#include "joining/node_book.hpp"

namespace paceline {

// Nothing there: it is empty. Errors: data: it is damaged; those of read_private().
Result<NodeBook> open_node_book(std::filesystem::path path);

}  // namespace paceline
