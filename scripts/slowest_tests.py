#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Prints the tests that took longest: slowest_tests.py [--count N] REPORT.xml... LOG...

REPORT.xml is ctest's (JUnit). In a LOG, a line "# NAME: SECONDS s" follows each test or suite. The line of a
whole suite, "# tests/...", counts only if no part of the suite has a line.
"""

import argparse
import pathlib
import re
import sys
import xml.etree.ElementTree as ElementTree

LINE = re.compile(r"# (.+): (\d+) s$")


def of_report(path):
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        yield float(case.get("time", 0)), case.get("name")


def of_log(text):
    parts = []
    for line in text.splitlines():
        if not (match := LINE.match(line)):
            continue
        name, seconds = match[1], float(match[2])
        if not name.startswith("tests/"):
            parts.append((seconds, name))
            continue
        yield from parts or [(seconds, name)]
        parts = []
    yield from parts


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("files", nargs="+", type=pathlib.Path)
    options = parser.parse_args()
    found = []
    for path in options.files:
        if path.exists():
            each = of_report(path) if path.suffix == ".xml" else of_log(path.read_text(errors="replace"))
            found += [(seconds, path.stem, name) for seconds, name in each]
    for seconds, phase, name in sorted(found, reverse=True)[:options.count]:
        print(f"{seconds:6.0f} s  {phase}: {name}")


if __name__ == "__main__":
    sys.exit(main())
