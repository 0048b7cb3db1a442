// How the owner of a machine describes it, beyond what is found on it: labels for jobs to name in
// their affinities (model/affinity.hpp), and where it stands.
//
//   auto label = parse_label("disk=nvme");           // {"disk", "nvme"}
//   has_label(node.labels, *parse_affinity("label:disk=nvme", false))
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.hpp"
#include "model/affinity.hpp"

namespace paceline {

using Labels = std::map<std::string, std::string>;

inline constexpr std::size_t kLabelsMax = 64;    // of a node
inline constexpr std::size_t kLabelKeyMax = 63;  // bytes: letters, digits and ._-/
inline constexpr std::size_t kLabelValueMax =
    256;  // bytes, at least one; no '~', nothing unprintable
inline constexpr std::size_t kPlaceNameMax = 63;  // bytes of the name of a rack or a switch

// Errors: invalid, with the form.
Result<std::pair<std::string, std::string>> parse_label(std::string_view text);

// Errors: invalid or too_large; the sentence names the key and what it must be.
Result<void> validate_labels(const Labels& labels);

// `what`: "rack" or "switch". An empty name says that nothing is known. Errors: invalid.
Result<void> validate_place(std::string_view what, std::string_view name);

inline constexpr std::size_t kAddressMax = 253;  // bytes

// Where others reach a node's workers: a number or a name, without a port. Errors: invalid.
Result<void> validate_address(std::string_view address);

// Do they meet the term's key and value? REQUIRES: it is to a label. Whether it is `anti` is left
// to the caller.
bool has_label(const Labels& labels, const Affinity& term);

}  // namespace paceline
