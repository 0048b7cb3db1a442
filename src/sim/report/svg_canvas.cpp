#include "sim/report/svg_canvas.hpp"

#include <fmt/format.h>

#include <vector>

#include "sim/report/markup.hpp"

namespace paceline::sim {
namespace {

constexpr std::string_view kFont = "Helvetica, Arial, 'DejaVu Sans', sans-serif";

std::string name_of(const Ink& ink) {
  switch (ink.role) {
    case Ink::paper:
      return "paper";
    case Ink::text:
      return "text";
    case Ink::quiet:
      return "quiet";
    case Ink::grid:
      return "grid";
    case Ink::curve:
      return fmt::format("curve{}", ink.number % kCurveInks);
    case Ink::fill:
      return fmt::format("fill{}", ink.number % kFillInks);
    case Ink::label:
      break;
  }
  return "label";
}

std::vector<Ink> all_inks() {
  std::vector<Ink> inks{{Ink::paper}, {Ink::text}, {Ink::quiet}, {Ink::grid}, {Ink::label}};
  for (std::size_t i = 0; i < kCurveInks; ++i) inks.push_back({Ink::curve, i});
  for (std::size_t i = 0; i < kFillInks; ++i) inks.push_back({Ink::fill, i});
  return inks;
}

std::string hex_of(const Colour& colour) {
  return fmt::format("#{:02x}{:02x}{:02x}", colour.red, colour.green, colour.blue);
}

// With one decimal, as short as it goes.
std::string number(double value) {
  std::string text = fmt::format("{:.1f}", value);
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text == "-0" ? "0" : text;
}

std::string_view anchor_of(Anchor anchor) {
  switch (anchor) {
    case Anchor::middle:
      return " text-anchor=\"middle\"";
    case Anchor::end:
      return " text-anchor=\"end\"";
    case Anchor::start:
      break;
  }
  return "";
}

}  // namespace

SvgCanvas::SvgCanvas(double width, double height, Inks inks)
    : width_(width), height_(height), inks_(inks) {}

std::string SvgCanvas::ink_of(std::string_view property, const Ink& ink) const {
  if (inks_ == Inks::classes) return fmt::format("class=\"{}-{}\"", property, name_of(ink));
  return fmt::format("{}=\"{}\"", property, hex_of(colour_of(ink, Theme::light)));
}

void SvgCanvas::rect(const Rect& rect, const Ink& ink, std::string_view about) {
  body_ +=
      fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" {}", number(rect.x),
                  number(rect.y), number(rect.width), number(rect.height), ink_of("fill", ink));
  body_ += about.empty() ? "/>\n" : fmt::format("><title>{}</title></rect>\n", escaped(about));
}

void SvgCanvas::line(std::span<const Point> points, const Stroke& stroke) {
  body_ += fmt::format("<polyline fill=\"none\" {} stroke-width=\"{}\"",
                       ink_of("stroke", stroke.ink), number(stroke.width));
  if (!stroke.dashes.empty())
    body_ += fmt::format(" stroke-dasharray=\"{}\"", fmt::join(stroke.dashes, " "));
  body_ += " points=\"";
  std::string before;
  for (const Point& point : points) {
    std::string here = number(point.x) + "," + number(point.y);
    if (here == before) continue;
    if (!before.empty()) body_ += ' ';
    body_ += here;
    before = std::move(here);
  }
  body_ += "\"/>\n";
}

void SvgCanvas::text(Point at, std::string_view text, const Font& font) {
  body_ += fmt::format("<text x=\"{}\" y=\"{}\" font-size=\"{}\" {}{}{}", number(at.x),
                       number(at.y), number(font.size), ink_of("fill", font.ink),
                       anchor_of(font.anchor), font.bold ? " font-weight=\"bold\"" : "");
  if (font.upwards)
    body_ += fmt::format(" transform=\"rotate(-90 {} {})\"", number(at.x), number(at.y));
  body_ += fmt::format(">{}</text>\n", escaped(text));
}

std::string SvgCanvas::take(std::string_view title) && {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
      "height=\"{1}\" role=\"img\" aria-label=\"{2}\" font-family=\"{3}\">\n{4}</svg>\n",
      number(width_), number(height_), escaped(title), kFont, body_);
}

std::string ink_properties(Theme theme) {
  std::string css;
  for (const Ink& ink : all_inks())
    css += fmt::format("--{}:{};", name_of(ink), hex_of(colour_of(ink, theme)));
  return css;
}

std::string ink_classes() {
  std::string css;
  for (const Ink& ink : all_inks()) {
    const std::string name = name_of(ink);
    css += fmt::format(".fill-{0}{{fill:var(--{0})}}.stroke-{0}{{stroke:var(--{0})}}", name);
  }
  return css;
}

}  // namespace paceline::sim
