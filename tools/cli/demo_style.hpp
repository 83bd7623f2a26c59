// SPDX-License-Identifier: MIT
#pragma once

namespace overtake::command {

/// The style, light and dark. The pictures have their own colours: the style replaces those of
/// paper and ink, and keeps the colours that belong to names.
constexpr const char* demo_style = R"css(
:root { color-scheme: light dark;
  --page: #f6f7f9; --card: #ffffff; --ink: #1b1f24; --soft: #57606a; --rule: #dfe3e8;
  --lane: #f3f3f3; --grid: #d4d4d4; --accent: #2458b8; --warn: #9a5b00; --note: #fff4dd; }
@media (prefers-color-scheme: dark) { :root {
  --page: #14171b; --card: #1d2126; --ink: #e7eaee; --soft: #a3adb8; --rule: #343b43;
  --lane: #292e35; --grid: #434b55; --accent: #7fb0ff; --warn: #f0bd62; --note: #352c1a; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink);
  font: 15px/1.55 system-ui, "Segoe UI", Roboto, "DejaVu Sans", Arial, sans-serif; }
main { max-width: 1240px; margin: 0 auto; padding: 28px 20px 60px; }
h1 { font-size: 28px; margin: 0; letter-spacing: -0.01em; }
h2 { font-size: 19px; margin: 0 0 6px; }
h3 { font-size: 16px; margin: 0 0 4px; }
p { max-width: 110ch; margin: 0 0 12px; }
.lead { color: var(--soft); margin: 6px 0 20px; }
section { background: var(--card); border: 1px solid var(--rule); border-radius: 10px;
  padding: 18px 20px; margin: 0 0 18px; overflow-x: auto; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(215px, 1fr)); gap: 12px;
  margin: 0 0 18px; }
.tile { background: var(--card); border: 1px solid var(--rule); border-radius: 10px;
  padding: 12px 16px; }
.tile b { display: block; font-size: 25px; font-variant-numeric: tabular-nums; }
.tile span { color: var(--soft); font-size: 13.5px; display: block; }
.note { background: var(--note); border-color: var(--warn); }
.note p:last-child { margin: 0; }
table { border-collapse: collapse; width: 100%; font-size: 13.5px; }
th { color: var(--soft); font-weight: 600; text-align: left; white-space: nowrap; }
th, td { padding: 5px 9px 5px 0; border-bottom: 1px solid var(--rule); vertical-align: top; }
tbody tr:last-child td { border-bottom: 0; }
th.n, td.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
th.group { text-align: center; border-left: 1px solid var(--rule); padding-left: 12px; }
td.first, th.first { border-left: 1px solid var(--rule); padding-left: 12px; }
td.name { font-weight: 600; white-space: nowrap; }
td small { display: block; color: var(--soft); }
.missing { color: var(--soft); font-style: italic; }
.differs { color: var(--warn); font-weight: 600; }
.bars { min-width: 110px; width: 16%; }
.bar { display: block; height: 10px; margin: 3px 0 2px; border-radius: 2px; min-width: 2px; }
.bar.predicted { background: none; border: 1.5px solid var(--detector); }
.bar.measured { background: var(--detector); }
.key { display: inline-block; width: 26px; height: 10px; border-radius: 2px; margin: 0 4px 0 10px;
  vertical-align: baseline; }
pre { background: var(--lane); border-radius: 6px; padding: 10px 12px; overflow-x: auto;
  font: 12.5px/1.5 ui-monospace, "DejaVu Sans Mono", monospace; margin: 4px 0 14px; }
code { font: 13px ui-monospace, "DejaVu Sans Mono", monospace; }
a { color: var(--accent); }
details { margin: 8px 0 0; }
summary { cursor: pointer; color: var(--accent); }
figure { margin: 10px 0 14px; }
figure.missing { border: 1.5px dashed var(--rule); border-radius: 8px; padding: 26px 16px;
  text-align: center; }
svg { display: block; width: 100%; min-width: 760px; height: auto; fill: var(--ink); }
svg > rect:first-of-type { fill: var(--card); }
svg > rect[fill="#f3f3f3"] { fill: var(--lane); }
svg > line[stroke="#d4d4d4"] { stroke: var(--grid); }
svg > line[stroke="#555555"] { stroke: var(--soft); }
svg > text[fill="#555555"] { fill: var(--soft); }
@media print { :root { --page: #fff; --card: #fff; --ink: #000; --soft: #444; }
  main { max-width: none; padding: 0; } section, .tile { border-radius: 0; }
  figure, tr, .tile { break-inside: avoid; }
  * { -webkit-print-color-adjust: exact; print-color-adjust: exact; } }
)css";

} // namespace overtake::command
