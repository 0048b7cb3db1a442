// Draws SVG. Without ids, so that several drawings fit into one page.
#pragma once

#include <string>

#include "sim/report/canvas.hpp"

namespace paceline::sim {

class SvgCanvas final : public Canvas {
 public:
  // `classes`: inks are CSS classes, whose colours the page gives (svg_style); `colours`: a file of
  // its own, on white.
  enum class Inks { classes, colours };

  SvgCanvas(double width, double height, Inks inks);

  void rect(const Rect& rect, const Ink& ink, std::string_view about) override;
  void line(std::span<const Point> points, const Stroke& stroke) override;
  void text(Point at, std::string_view text, const Font& font) override;

  // The whole <svg> element; `title` says what it shows to people who can't see it.
  [[nodiscard]] std::string take(std::string_view title) &&;

 private:
  [[nodiscard]] std::string ink_of(std::string_view property, const Ink& ink) const;

  double width_, height_;
  Inks inks_;
  std::string body_;
};

// The style sheet that gives every class its colour in a theme: custom properties for `:root`.
std::string ink_properties(Theme theme);
// The classes themselves.
std::string ink_classes();

}  // namespace paceline::sim
