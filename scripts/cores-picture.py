#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Draws docs/pictures/cores.png: only the cores of a report (overtake info MODEL --report REPORT.html).

    scripts/cores-picture.py REPORT.html PICTURE.png

Needs rsvg-convert (Debian package librsvg2-bin).
"""

import re
import subprocess
import sys

report, picture = sys.argv[1:]
with open(report, encoding="utf-8") as file:
    page = file.read()
(svg,) = re.findall(r'<svg[^>]*aria-label="One inference on several cores.*?</svg>', page, re.S)
style = re.search(r"<style>(.*?)</style>", page, re.S)[1]
colours = dict(re.findall(r"(--[\w-]+): (#\w+);", style.split("@media")[0]))
rules = re.sub(r"@media[^{]*\{(?:[^{}]*\{[^}]*\})*[^}]*\}", "", style)
for name, colour in colours.items():
    rules = rules.replace(f"var({name})", colour)
background = '<rect x="0" y="0" width="100%" height="100%" fill="#ffffff"/>'
svg = re.sub(r"(<svg[^>]*>)", rf"\1<style>{rules} svg text {{ font-family: sans-serif; }}</style>{background}", svg, count=1)
if "xmlns=" not in svg:
    svg = svg.replace("<svg", '<svg xmlns="http://www.w3.org/2000/svg"', 1)
subprocess.run(["rsvg-convert", "--width", "1600", "-o", picture], input=svg.encode(), check=True)
