#include "sim/report/canvas.hpp"

#include <algorithm>
#include <array>

namespace paceline::sim {
namespace {

constexpr double kLetterWidth = 0.56;  // of the size: of sans-serif, on average

// Okabe and Ito's colours, which people with colour blindness tell apart, and two more.
constexpr std::array<Colour, kCurveInks> kCurves{{{0, 114, 178},
                                                  {213, 94, 0},
                                                  {0, 158, 115},
                                                  {204, 121, 167},
                                                  {230, 159, 0},
                                                  {86, 180, 233},
                                                  {106, 61, 154},
                                                  {110, 110, 110}}};
constexpr std::array<Colour, kCurveInks> kCurvesOnDark{{{88, 166, 224},
                                                        {245, 143, 76},
                                                        {66, 201, 158},
                                                        {230, 159, 196},
                                                        {243, 194, 82},
                                                        {156, 213, 247},
                                                        {184, 155, 226},
                                                        {175, 175, 175}}};
// Paul Tol's "light" scheme, made for text on them.
constexpr std::array<Colour, kFillInks> kFills{{{119, 170, 221},
                                                {238, 136, 102},
                                                {238, 221, 136},
                                                {255, 170, 187},
                                                {153, 221, 255},
                                                {68, 187, 153},
                                                {187, 204, 51},
                                                {201, 180, 226}}};

struct Shades {
  Colour light, dark;
  [[nodiscard]] Colour of(Theme theme) const { return theme == Theme::light ? light : dark; }
};
constexpr Shades kPaper{{255, 255, 255}, {20, 22, 26}};
constexpr Shades kText{{27, 31, 36}, {226, 229, 233}};
constexpr Shades kQuiet{{95, 103, 112}, {155, 163, 172}};
constexpr Shades kGrid{{225, 228, 232}, {48, 53, 60}};
constexpr Colour kLabel{20, 22, 26};

}  // namespace

Colour colour_of(const Ink& ink, Theme theme) {
  switch (ink.role) {
    case Ink::paper:
      return kPaper.of(theme);
    case Ink::text:
      return kText.of(theme);
    case Ink::quiet:
      return kQuiet.of(theme);
    case Ink::grid:
      return kGrid.of(theme);
    case Ink::curve:
      return (theme == Theme::light ? kCurves : kCurvesOnDark)[ink.number % kCurveInks];
    case Ink::fill:
      return kFills[ink.number % kFillInks];
    case Ink::label:
      break;
  }
  return kLabel;
}

double width_of(std::string_view text, double size) {
  const auto letters = std::count_if(text.begin(), text.end(), [](char byte) {
    return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U;  // no second byte of one
  });
  return static_cast<double>(letters) * size * kLetterWidth;
}

}  // namespace paceline::sim
