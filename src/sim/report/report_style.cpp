#include "sim/report/report_style.hpp"

#include <fmt/format.h>

#include <string_view>

#include "sim/report/svg_canvas.hpp"

namespace paceline::sim {
namespace {

constexpr std::string_view kSheet = R"css(
html { background: var(--paper); color: var(--text); }
body { margin: 0; font: 15px/1.5 system-ui, Helvetica, Arial, sans-serif; }
main { max-width: 1000px; margin: 0 auto; padding: 32px 20px 64px; }
h1 { font-size: 24px; line-height: 1.25; margin: 0 0 12px; }
h2 { font-size: 18px; margin: 40px 0 10px; }
p { margin: 0 0 12px; max-width: 76ch; }
pre { margin: 0; padding: 10px 14px; border: 1px solid var(--grid); border-radius: 6px;
  white-space: pre-wrap; overflow-wrap: anywhere; font-size: 13px; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; margin: 0 0 20px; font-variant-numeric: tabular-nums;
  font-size: 13.5px; }
caption, figcaption { text-align: left; color: var(--quiet); font-size: 13.5px; padding: 0 0 8px; }
caption { caption-side: top; }
figcaption { padding: 6px 0 0; }
thead th { border-bottom: 1.5px solid var(--text); vertical-align: bottom; }
th, td { padding: 2.5px 6px; text-align: right; font-weight: normal; }
th:first-child, td:first-child { padding-left: 0; }
thead th { font-weight: 600; }
th.word { text-align: left; white-space: nowrap; }
td { white-space: nowrap; vertical-align: top; }
tbody th { vertical-align: top; }
small { font-size: 11.5px; color: var(--quiet); }
tbody tr + tr.begins > * { border-top: 1px solid var(--grid); }
tbody tr:last-child > * { border-bottom: 1.5px solid var(--text); }
figure { margin: 0 0 24px; }
svg { display: block; width: 100%; height: auto; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 4px 18px; margin: 0; }
dt { font-weight: 600; }
dd { margin: 0; overflow-wrap: anywhere; }
@page { margin: 16mm; }
@media print {
  body { font-size: 10pt; }
  main { max-width: none; padding: 0; }
  h2 { break-after: avoid; }
  figure, tr, dd { break-inside: avoid; }
  .wide { overflow: visible; }
  table { font-size: 7.5pt; }
  small { font-size: 6.5pt; }
  caption, figcaption { font-size: 8pt; }
  th, td { padding: 2px 4px; }
  h2 { margin-top: 20px; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
}
)css";

}  // namespace

std::string report_style() {
  return fmt::format(
      ":root{{color-scheme:light dark;{}}}\n@media screen and (prefers-color-scheme:dark){{"
      ":root{{{}}}}}\n{}{}",
      ink_properties(Theme::light), ink_properties(Theme::dark), ink_classes(), kSheet);
}

}  // namespace paceline::sim
