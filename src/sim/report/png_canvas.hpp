// Draws a PNG image with Cairo, on white.
#pragma once

#include <memory>
#include <string>

#include "base/result.hpp"
#include "sim/report/canvas.hpp"

namespace paceline::sim {

class PngCanvas final : public Canvas {
 public:
  // `scale`: dots of the image for each of the drawing's pixels.
  PngCanvas(double width, double height, double scale);
  ~PngCanvas() override;

  void rect(const Rect& rect, const Ink& ink, std::string_view about) override;
  void line(std::span<const Point> points, const Stroke& stroke) override;
  void text(Point at, std::string_view text, const Font& font) override;

  // The file's bytes. Errors: internal (no memory for the image).
  [[nodiscard]] Result<std::string> take() &&;

 private:
  struct Cairo;
  std::unique_ptr<Cairo> cairo_;
};

}  // namespace paceline::sim
