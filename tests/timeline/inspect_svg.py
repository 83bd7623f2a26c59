#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Prints the contents of an SVG document as JSON, by another parser and with the real widths of letters.

groups:  how many <g> there are of each class, outside the legend
titles:  their titles, by class
texts:   all texts
ticks:   texts of the time axis
legend:  [words, x of the symbol, y, x of the end of the words] of each entry
waits:   how many lines of class "wait" there are outside the legend
outside: what reaches beyond the picture
"""

import json
import re
import sys
import xml.etree.ElementTree as ElementTree

from PIL import ImageFont

SVG = "{http://www.w3.org/2000/svg}"
FONT = "/usr/share/fonts/truetype/dejavu/DejaVuSans{}.ttf"


class Picture:
    def __init__(self, path):
        self.root = ElementTree.parse(path).getroot()
        self.width = float(self.root.get("width"))
        self.height = float(self.root.get("height"))
        self.fonts = {}
        self.found = {"width": self.width, "height": self.height, "groups": {}, "titles": {},
                      "texts": [], "ticks": [], "legend": [], "waits": 0, "outside": []}

    def text_box(self, element):
        size = float(element.get("font-size", self.root.get("font-size")))
        bold = "-Bold" if element.get("font-weight") == "bold" else ""
        key = (bold, size)
        if key not in self.fonts:
            # Ten times as large: the font's own widths are whole pixels.
            self.fonts[key] = ImageFont.truetype(FONT.format(bold), round(size * 10))
        wide = self.fonts[key].getlength(element.text or "") / 10
        share = {"middle": 0.5, "end": 1.0}.get(element.get("text-anchor"), 0.0)
        x = float(element.get("x")) - share * wide
        y = float(element.get("y"))
        return x, y - size, x + wide, y + 0.25 * size

    @staticmethod
    def path_box(element):
        x = y = 0.0
        points = []
        for command, numbers in re.findall(r"([MLlhz])([^MLlhz]*)", element.get("d")):
            values = [float(number) for number in numbers.split()]
            if command in "ML":
                x, y = values
            elif command == "l":
                x, y = x + values[0], y + values[1]
            elif command == "h":
                x += values[0]
            points.append((x, y))
        return (min(p[0] for p in points), min(p[1] for p in points),
                max(p[0] for p in points), max(p[1] for p in points))

    def box(self, element):
        kind = element.tag.removeprefix(SVG)
        if kind == "text":
            return self.text_box(element)
        if kind == "path":
            return self.path_box(element)
        if kind == "rect" and element.get("width") != "100%":
            x, y = float(element.get("x")), float(element.get("y"))
            return x, y, x + float(element.get("width")), y + float(element.get("height"))
        if kind == "line":
            ends = [float(element.get(name)) for name in ("x1", "y1", "x2", "y2")]
            return min(ends[0::2]), min(ends[1::2]), max(ends[0::2]), max(ends[1::2])
        return None

    def visit(self, element, in_legend):
        kind = element.tag.removeprefix(SVG)
        if kind == "defs":
            return
        box = self.box(element)
        if box and (box[0] < 0 or box[1] < 0 or box[2] > self.width + 0.01
                    or box[3] > self.height + 0.01):
            self.found["outside"].append(ElementTree.tostring(element, "unicode"))
        if kind == "text":
            self.found["texts"].append(element.text or "")
            if element.get("class") == "tick":
                self.found["ticks"].append(element.text)
        if kind == "line" and element.get("class") == "wait" and not in_legend:
            self.found["waits"] += 1
        if kind == "g":
            name = element.get("class")
            if name == "legend":
                self.legend_entry(element)
                in_legend = True
            if not in_legend or name == "legend":
                groups = self.found["groups"]
                groups[name] = groups.get(name, 0) + 1
                title = element.find(SVG + "title").text or ""
                self.found["titles"].setdefault(name, []).append(title)
        for child in element:
            self.visit(child, in_legend)

    def legend_entry(self, group):
        words = group.findall(SVG + "text")[-1]
        box = self.text_box(words)
        begin = min([box[0]] + [self.box(child)[0] for child in group if self.box(child)])
        self.found["legend"].append([words.text, begin, box[1], box[2]])


if __name__ == "__main__":
    picture = Picture(sys.argv[1])
    picture.visit(picture.root, False)
    json.dump(picture.found, sys.stdout)
