// What charts are drawn on: rectangles, lines and text in named inks. Points are in CSS pixels from
// the left and upper edge.
//
// An ink is a role and not a colour, so that one drawing serves light and dark screens and paper.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace paceline::sim {

struct Point {
  double x = 0, y = 0;
};

struct Rect {
  double x = 0, y = 0, width = 0, height = 0;
  [[nodiscard]] double right() const { return x + width; }
  [[nodiscard]] double bottom() const { return y + height; }
};

struct Ink {
  enum Role {
    paper,  // what is drawn on
    text,   //
    quiet,  // text that steps back, axes
    grid,   //
    curve,  // one of kCurveInks
    fill,   // one of kFillInks, light enough for `label` on it
    label,  // text on a fill
  };
  Role role = text;
  std::size_t number = 0;  // of a curve or a fill; further ones repeat the first
};

inline constexpr std::size_t kCurveInks = 8;
inline constexpr std::size_t kFillInks = 8;

struct Colour {
  int red = 0, green = 0, blue = 0;  // 0..255
};

enum class Theme { light, dark };

Colour colour_of(const Ink& ink, Theme theme);

struct Stroke {
  Ink ink;
  double width = 1;
  std::span<const double> dashes{};  // on, off, …; empty: unbroken
};

enum class Anchor { start, middle, end };

struct Font {
  double size = 12;
  Anchor anchor = Anchor::start;
  Ink ink;
  bool bold = false;
  bool upwards = false;  // turned to the left by a quarter
};

// About how wide a text of so many letters is.
double width_of(std::string_view text, double size);

class Canvas {
 public:
  Canvas() = default;
  Canvas(const Canvas&) = delete;
  Canvas& operator=(const Canvas&) = delete;
  virtual ~Canvas() = default;

  // `about`: shown where somebody points at it; empty: nothing.
  virtual void rect(const Rect& rect, const Ink& ink, std::string_view about) = 0;
  virtual void line(std::span<const Point> points, const Stroke& stroke) = 0;
  // `at`: where its base line begins, has its middle or ends.
  virtual void text(Point at, std::string_view text, const Font& font) = 0;
};

}  // namespace paceline::sim
