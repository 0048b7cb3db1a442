#include "sim/report/canvas.hpp"

#include <gmock/gmock.h>

#include <array>

#include "sim/report/markup.hpp"
#include "sim/report/svg_canvas.hpp"

namespace paceline::sim {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr std::array kLine{Point{1, 2}, Point{1, 2.04}, Point{3.25, 40}};

TEST(Markup, LeavesNothingThatMeansSomething) {
  EXPECT_EQ(escaped("<b a=\"1\">&'</b>"), "&lt;b a=&quot;1&quot;&gt;&amp;&#39;&lt;/b&gt;");
  EXPECT_EQ(escaped("a\x01z\x7F"), "a\xEF\xBF\xBDz\xEF\xBF\xBD");
  EXPECT_EQ(escaped("caf\xC3\xA9 \xC3("), "caf\xC3\xA9 \xEF\xBF\xBD(");
}

TEST(SvgCanvas, DrawsInClassesThatThePageColours) {
  SvgCanvas canvas(100, 50, SvgCanvas::Inks::classes);
  canvas.rect({1, 2, 3, 4.56}, {Ink::fill, 9}, "job <1>");
  canvas.line(kLine, {{Ink::curve, 2}, 2});
  canvas.text({5, 6}, "a & b", {12, Anchor::middle, {Ink::quiet}, true, true});
  EXPECT_EQ(std::move(canvas).take("a \"title\""),
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 100 50\" width=\"100\" "
            "height=\"50\" role=\"img\" aria-label=\"a &quot;title&quot;\" "
            "font-family=\"Helvetica, Arial, 'DejaVu Sans', sans-serif\">\n"
            "<rect x=\"1\" y=\"2\" width=\"3\" height=\"4.6\" class=\"fill-fill1\"><title>job "
            "&lt;1&gt;</title></rect>\n"
            "<polyline fill=\"none\" class=\"stroke-curve2\" stroke-width=\"2\" "
            "points=\"1,2 3.2,40\"/>\n"
            "<text x=\"5\" y=\"6\" font-size=\"12\" class=\"fill-quiet\" text-anchor=\"middle\" "
            "font-weight=\"bold\" transform=\"rotate(-90 5 6)\">a &amp; b</text>\n</svg>\n");
}

TEST(SvgCanvas, DrawsInColoursForAFileOfItsOwn) {
  SvgCanvas canvas(10, 10, SvgCanvas::Inks::colours);
  canvas.rect({0, 0, 10, 10}, {Ink::paper}, {});
  constexpr std::array kDashes{7.0, 3.0};
  canvas.line(kLine, {{Ink::curve}, 2, kDashes});
  const std::string svg = std::move(canvas).take("");
  EXPECT_THAT(svg, HasSubstr("fill=\"#ffffff\""));
  EXPECT_THAT(svg, HasSubstr("stroke=\"#0072b2\" stroke-width=\"2\" stroke-dasharray=\"7 3\""));
  EXPECT_THAT(svg, Not(HasSubstr("class=")));
}

TEST(SvgCanvas, EveryInkHasAColourInEveryTheme) {
  for (const Theme theme : {Theme::light, Theme::dark}) {
    const std::string properties = ink_properties(theme);
    for (const char* name : {"--paper:#", "--text:#", "--curve7:#", "--fill7:#", "--label:#"})
      EXPECT_THAT(properties, HasSubstr(name));
  }
  EXPECT_NE(ink_properties(Theme::light), ink_properties(Theme::dark));
  EXPECT_THAT(ink_classes(), HasSubstr(".stroke-curve0{stroke:var(--curve0)}"));
}

TEST(Canvas, WidthsCountLettersAndNotBytes) {
  EXPECT_EQ(width_of("caf\xC3\xA9", 10), width_of("cafe", 10));
}

}  // namespace
}  // namespace paceline::sim
