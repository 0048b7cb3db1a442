#include "sim/report/plot.hpp"

#include <fmt/format.h>

#include "sim/report/figures.hpp"
#include "sim/report/png_canvas.hpp"
#include "sim/report/svg_canvas.hpp"

namespace paceline::sim {
namespace {

constexpr double kDots = 2;  // of an image for each pixel of the drawing

}  // namespace

Result<PlotFormat> plot_format_of(std::string_view path) {
  if (path.ends_with(".png")) return PlotFormat::png;
  if (path.ends_with(".svg")) return PlotFormat::svg;
  return fail(ErrorCode::invalid, fmt::format("'{}' is no name of a plot.", path),
              "Give a name that ends in .png or .svg.");
}

Result<std::string> plot(const Study& study, const StudyPlan& plan, PlotFormat format) {
  const Figure figure = cdf_figure(study, plan);
  if (format == PlotFormat::png) {
    PngCanvas canvas(kFigureWidth, figure.height, kDots);
    figure.draw(canvas);
    return std::move(canvas).take();
  }
  SvgCanvas canvas(kFigureWidth, figure.height, SvgCanvas::Inks::colours);
  canvas.rect({0, 0, kFigureWidth, figure.height}, {Ink::paper}, {});
  figure.draw(canvas);
  return R"(<?xml version="1.0" encoding="UTF-8"?>)"
         "\n" +
         std::move(canvas).take(figure.title);
}

}  // namespace paceline::sim
