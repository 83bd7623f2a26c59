// SPDX-License-Identifier: MIT
#pragma once

namespace overtake::report {

/// The colours also differ for colour-blind readers, and in grey.
constexpr const char* style = R"css(
:root { color-scheme: light dark;
  --page: #f6f7f9; --card: #ffffff; --ink: #1b1f24; --soft: #5b6570; --rule: #dfe3e8;
  --accent: #2458b8; --warn: #b42318; --overhead: #c6ccd4;
  --c0: #2f6fd0; --c1: #e08a1e; --c2: #2a9d72; --c3: #8e5bc4; --c4: #c94f7c; --c5: #2aa5b8;
  --c6: #a3873a; --c7: #8a949e; --edge: #ffffff; }
@media (prefers-color-scheme: dark) { :root {
  --page: #14171b; --card: #1d2126; --ink: #e7eaee; --soft: #9aa4af; --rule: #323841;
  --accent: #7fb0ff; --warn: #ff8f80; --overhead: #4a525c;
  --c0: #5b95ee; --c1: #f0a848; --c2: #4cc197; --c3: #b08ae0; --c4: #e67fa5; --c5: #55c6d6;
  --c6: #c9ad5e; --c7: #8a949e; --edge: #1d2126; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink);
  font: 15px/1.5 system-ui, "Segoe UI", Roboto, "Liberation Sans", Arial, sans-serif; }
main { max-width: 1080px; margin: 0 auto; padding: 28px 20px 60px; }
h1 { font-size: 27px; margin: 0; letter-spacing: -0.01em; overflow-wrap: anywhere; }
h2 { font-size: 17px; margin: 0 0 4px; }
.lead { color: var(--soft); margin: 4px 0 22px; }
section { background: var(--card); border: 1px solid var(--rule); border-radius: 10px;
  padding: 18px 20px; margin: 0 0 18px; overflow-x: auto; }
section > p { color: var(--soft); margin: 0 0 12px; max-width: 75ch; }
.tiles { display: grid; grid-template-columns: repeat(auto-fill, minmax(220px, 1fr));
  gap: 12px; margin: 0 0 18px; }
.tile { background: var(--card); border: 1px solid var(--rule); border-radius: 10px;
  padding: 12px 16px; }
.tile b { display: block; font-size: 23px; font-weight: 600; font-variant-numeric: tabular-nums;
  letter-spacing: -0.01em; }
.tile > span { color: var(--soft); font-size: 13px; display: block; }
table { border-collapse: collapse; width: 100%; font-size: 13.5px; }
th { text-align: left; color: var(--soft); font-weight: 600; white-space: nowrap; }
th, td { padding: 4px 10px 4px 0; border-bottom: 1px solid var(--rule); vertical-align: top; }
tr:last-child td { border-bottom: 0; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
td.name { overflow-wrap: anywhere; }
.part { position: relative; min-width: 96px; }
.part i { display: block; height: 9px; margin-top: 6px; border-radius: 2px; min-width: 1px; }
.low { color: var(--warn); font-weight: 600; }
.on { font-size: 12px; border: 1px solid var(--rule); border-radius: 4px; padding: 0 5px; }
.cpu { color: var(--warn); border-color: var(--warn); }
.legend { display: flex; flex-wrap: wrap; gap: 4px 16px; margin: 10px 0 0; font-size: 13px;
  color: var(--soft); }
.legend i { display: inline-block; width: 11px; height: 11px; border-radius: 2px;
  margin-right: 6px; }
svg { display: block; width: 100%; height: auto; }
svg text { font-size: 12px; fill: var(--soft); }
.grid { stroke: var(--rule); stroke-width: 1; }
.limit { stroke: var(--warn); stroke-width: 1.5; stroke-dasharray: 6 4; }
.border { stroke: var(--soft); stroke-width: 1; }
.edge { stroke: var(--edge); stroke-width: 0.5; }
.tensor { stroke: var(--card); stroke-width: 1; }
.t0 { fill: var(--c0); opacity: 0.85; } .t1 { fill: var(--c5); opacity: 0.85; }
.t2 { fill: var(--c2); opacity: 0.85; }
.overhead { fill: var(--overhead); background: var(--overhead); }
.c0 { fill: var(--c0); background: var(--c0); } .c1 { fill: var(--c1); background: var(--c1); }
.c2 { fill: var(--c2); background: var(--c2); } .c3 { fill: var(--c3); background: var(--c3); }
.c4 { fill: var(--c4); background: var(--c4); } .c5 { fill: var(--c5); background: var(--c5); }
.c6 { fill: var(--c6); background: var(--c6); } .c7 { fill: var(--c7); background: var(--c7); }
.estimate { border: 1px dashed var(--soft); }
svg rect:hover { opacity: 0.7; }
@media print {
  :root { --page: #fff; --card: #fff; --ink: #000; --soft: #444; --rule: #ccc; --edge: #fff; }
  body { font-size: 11px; } main { max-width: none; padding: 0; }
  section, .tile { border-radius: 0; break-inside: auto; } .tiles, svg, tr { break-inside: avoid; }
  * { -webkit-print-color-adjust: exact; print-color-adjust: exact; }
}
)css";

} // namespace overtake::report
