// PNG images of SVG drawings, painted by librsvg's `rsvg-convert` where that is installed: fonts and
// what paints them are no part of a server.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"

namespace paceline {

// Could png_of() paint? Errors: not_found.
Result<void> find_painter();

// Twice as many dots as the drawing has pixels, in each direction. Errors: not_found, storage,
// internal (the painter failed).
Result<std::string> png_of(std::string_view svg);

}  // namespace paceline
