#include "sim/report/png_canvas.hpp"

#include <cairo.h>
#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "base/utf8.hpp"

namespace paceline::sim {
namespace {

cairo_status_t append(void* out, const unsigned char* bytes, unsigned length) {
  static_cast<std::string*>(out)->append(bytes, bytes + length);
  return CAIRO_STATUS_SUCCESS;
}

// How much of a text's width lies before its place.
double part_before(Anchor anchor) {
  switch (anchor) {
    case Anchor::middle:
      return 0.5;
    case Anchor::end:
      return 1;
    case Anchor::start:
      break;
  }
  return 0;
}

}  // namespace

// Cairo remembers what went wrong and draws nothing from then on: it is looked at in the end.
struct PngCanvas::Cairo {
  Cairo(int width, int height)
      : surface(cairo_image_surface_create(CAIRO_FORMAT_RGB24, width, height)),
        context(cairo_create(surface)) {}
  ~Cairo() {
    cairo_destroy(context);
    cairo_surface_destroy(surface);
  }
  Cairo(const Cairo&) = delete;
  Cairo& operator=(const Cairo&) = delete;

  void dip(const Ink& ink) const {
    const Colour colour = colour_of(ink, Theme::light);
    cairo_set_source_rgb(context, colour.red / 255.0, colour.green / 255.0, colour.blue / 255.0);
  }

  cairo_surface_t* surface;
  cairo_t* context;
};

PngCanvas::PngCanvas(double width, double height, double scale)
    : cairo_(std::make_unique<Cairo>(static_cast<int>(std::ceil(width * scale)),
                                     static_cast<int>(std::ceil(height * scale)))) {
  cairo_scale(cairo_->context, scale, scale);
  cairo_set_line_join(cairo_->context, CAIRO_LINE_JOIN_ROUND);
  cairo_->dip({Ink::paper});
  cairo_paint(cairo_->context);
}

PngCanvas::~PngCanvas() = default;

void PngCanvas::rect(const Rect& rect, const Ink& ink, std::string_view) {
  cairo_->dip(ink);
  cairo_rectangle(cairo_->context, rect.x, rect.y, rect.width, rect.height);
  cairo_fill(cairo_->context);
}

void PngCanvas::line(std::span<const Point> points, const Stroke& stroke) {
  cairo_->dip(stroke.ink);
  cairo_set_line_width(cairo_->context, stroke.width);
  cairo_set_dash(cairo_->context, stroke.dashes.data(), static_cast<int>(stroke.dashes.size()), 0);
  cairo_new_path(cairo_->context);
  for (const Point& point : points) cairo_line_to(cairo_->context, point.x, point.y);
  cairo_stroke(cairo_->context);
}

void PngCanvas::text(Point at, std::string_view text, const Font& font) {
  cairo_t* context = cairo_->context;
  const std::string shown = to_utf8(text);
  cairo_->dip(font.ink);
  cairo_select_font_face(context, "sans-serif", CAIRO_FONT_SLANT_NORMAL,
                         font.bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
  cairo_set_font_size(context, font.size);
  cairo_text_extents_t extents;
  cairo_text_extents(context, shown.c_str(), &extents);
  cairo_save(context);
  cairo_translate(context, at.x, at.y);
  if (font.upwards) cairo_rotate(context, -std::numbers::pi / 2);
  cairo_move_to(context, -part_before(font.anchor) * extents.x_advance, 0);
  cairo_show_text(context, shown.c_str());
  cairo_restore(context);
}

Result<std::string> PngCanvas::take() && {
  std::string png;
  cairo_status_t status = cairo_status(cairo_->context);
  if (status == CAIRO_STATUS_SUCCESS)
    status = cairo_surface_write_to_png_stream(cairo_->surface, append, &png);
  if (status == CAIRO_STATUS_SUCCESS) return png;
  return fail(ErrorCode::internal,
              fmt::format("The image can't be drawn: {}.", cairo_status_to_string(status)),
              "Ask for a plot with the suffix .svg.");
}

}  // namespace paceline::sim
