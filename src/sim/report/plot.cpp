#include "sim/report/plot.hpp"

#include <fmt/format.h>

#include "sim/report/figures.hpp"
#include "sim/report/svg_canvas.hpp"

namespace paceline::sim {
Result<PlotFormat> plot_format_of(std::string_view path) {
  if (path.ends_with(".png")) return PlotFormat::png;
  if (path.ends_with(".svg")) return PlotFormat::svg;
  return fail(ErrorCode::invalid, fmt::format("'{}' is no name of a plot.", path),
              "Give a name that ends in .png or .svg.");
}

std::string plot(const Study& study, const StudyPlan& plan) {
  const Figure figure = cdf_figure(study, plan);
  SvgCanvas canvas(kFigureWidth, figure.height, SvgCanvas::Inks::colours);
  canvas.rect({0, 0, kFigureWidth, figure.height}, {Ink::paper}, {});
  figure.draw(canvas);
  return R"(<?xml version="1.0" encoding="UTF-8"?>)"
         "\n" +
         std::move(canvas).take(figure.title);
}

}  // namespace paceline::sim
