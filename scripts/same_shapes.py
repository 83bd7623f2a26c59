#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Prints places of the sources that have the same shape: perhaps they were written twice.

  scripts/same_shapes.py [--lines N] [--list N] [FOLDER...]

Comments, blank lines and lines that say little (brackets, #include, using) are left out. In the other lines, each
name except control keywords becomes I, each number N, each string S. A pair of places of the same shape is two runs
of at least N (10, or --lines) equal lines. Among the first N, at least three quarters must be distinct, and one
must begin with a control keyword. Prints how many pairs there are in the product's folders (firmware-sim,
kmod, libruntime, tools), or in FOLDERS, and the longest ones. A pair is a question, not a fault.
"""

import argparse
import collections
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[1]
PRODUCT = ("firmware-sim", "kmod", "libruntime", "tools")
SUFFIXES = (".c", ".h", ".cpp", ".hpp", ".py")
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|[A-Za-z_]\w*|\d[\w.]*|\S')
KEPT = {"if", "else", "for", "while", "switch", "case", "return", "break", "continue", "do", "throw", "try", "catch"}
CONTROL = ("if", "for", "while", "switch", "return", "throw", "do")
DULL = re.compile(r"^[{}();,&]*$|^# *I\b|^\{.*\},?$|^I$|^using\b")


def shape(line):
    """Returns the line with I for each name, N for each number, S for each string."""
    tokens = []
    for token in TOKEN.findall(line):
        if token[0] in "\"'":
            token = "S"
        elif token[0].isdigit():
            token = "N"
        elif token[0].isalpha() or token[0] == "_":
            token = token if token in KEPT else "I"
        tokens.append(token)
    return "".join(tokens)


def shapes(path):
    """Yields (line number, shape) of each line that is not left out."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        text = COMMENT.sub(lambda comment: "\n" * comment[0].count("\n"), text)
    for number, line in enumerate(text.splitlines(), 1):
        of_line = shape(line.split("#", 1)[0] if path.suffix == ".py" else line)
        if of_line and not DULL.match(of_line):
            yield number, of_line


def pairs(files, least):
    """Returns (length, place, place) of each pair, at its full length."""
    lines = {path: list(shapes(path)) for path in files}
    seen = collections.defaultdict(list)
    for path, of_file in lines.items():
        for begin in range(len(of_file) - least + 1):
            window = tuple(of_line for _, of_line in of_file[begin : begin + least])
            if len(set(window)) * 4 >= least * 3 and any(line.startswith(CONTROL) for line in window):
                seen[window].append((path, begin))
    found = []
    for places in seen.values():
        for index, (path, begin) in enumerate(places):
            for other, at in places[index + 1 :]:
                if begin and at and lines[path][begin - 1][1] == lines[other][at - 1][1]:
                    continue  # a part of a longer pair
                length = least
                while (
                    begin + length < len(lines[path])
                    and at + length < len(lines[other])
                    and lines[path][begin + length][1] == lines[other][at + length][1]
                ):
                    length += 1
                found.append((length, (path, lines[path][begin][0]), (other, lines[other][at][0])))
    return sorted(found, key=lambda pair: (-pair[0], str(pair[1])))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", default=PRODUCT)
    parser.add_argument("--lines", type=int, default=10)
    parser.add_argument("--list", type=int, default=10)
    options = parser.parse_args()
    listed = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", *options.folders], capture_output=True, text=True, check=True
    ).stdout.split()
    files = [ROOT / name for name in listed if name.endswith(SUFFIXES)]
    found = pairs(files, options.lines)
    print(f"{len(found)} pairs of places of the same shape, of {options.lines} lines or more")
    for length, *places in found[: options.list]:
        print(f"{length:4} lines:", ", ".join(f"{path.relative_to(ROOT)}:{line}" for path, line in places))


if __name__ == "__main__":
    main()
