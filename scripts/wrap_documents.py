#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Wraps the paragraphs of Markdown files at 80 columns, each sentence on a line of its own:

    scripts/wrap_documents.py FILE.md...            # rewrites them
    scripts/wrap_documents.py --fill FILE.md...     # sentences share lines
    scripts/wrap_documents.py --check FILE.md...    # names the files that it would change

Tables, headings, code and HTML stay as they are. If the meaning of a file would change, it is an error.
Needs Debian's python3-markdown-it.
"""

import argparse
import pathlib
import re
import sys

from markdown_it import MarkdownIt

COLUMNS = 80
# A line does not end inside these: code, links, pictures, and words with the marks next to them.
WORD = re.compile(r"(?:`+[^`]*`+|!?\[(?:[^\[\]`]|`[^`]*`|\[[^\]]*\])*\](?:\([^)\s]*\))?|\S)+")
SENTENCE_END = re.compile(r"[.!?][)\"'*_]*$")
NO_END = re.compile(r"(?:^|[( ])(?:e\.g|i\.e|vs|cf|etc|No|[0-9]+)\.$")
# At the beginning of a line, these would begin a block or end a paragraph.
BLOCK = re.compile(r"(?:[-+*>|=#:]|\d+[.)]|```|~~~|<)")


def parser():
    return MarkdownIt("commonmark").enable("table")


def words_of(text):
    """Returns the words; one that looks like the beginning of a block is joined to the word before it."""
    words = []
    for word in WORD.findall(" ".join(text.split())):
        if words and BLOCK.match(word):
            words[-1] += " " + word
        else:
            words.append(word)
    return words


def wrapped(text, first, rest, fill):
    """Returns the lines of a paragraph: the first begins with `first`, the others with `rest`."""
    lines, line, ends = [], first, True
    for word in words_of(text):
        fits = len(line) + 1 + len(word) <= COLUMNS
        if line in (first, rest) and (line == first) == (not lines):
            line += word
        elif fits and not ends:
            line += " " + word
        else:
            lines.append(line)
            line = rest + word
        ends = not fill and bool(SENTENCE_END.search(word)) and not NO_END.search(word)
    return [*lines, line]


def paragraphs(source):
    """Yields the first line of each paragraph, the line behind its last, and its text."""
    for opening, inline in zip(tokens := parser().parse(source), tokens[1:]):
        if opening.type == "paragraph_open":
            yield *opening.map, inline.content


def rewrapped(source, fill=False):
    lines, result, done = source.split("\n"), [], 0
    for start, end, content in paragraphs(source):
        if re.search(r"(?:  |\\)$", content, re.MULTILINE) or content.startswith("<"):
            continue  # intended line breaks, or HTML
        text_begins = lines[start].index(content.split("\n")[0].strip())
        first = lines[start][:text_begins]
        rest = "".join(c if c == ">" else " " for c in first)
        result += lines[done:start] + wrapped(content, first, rest, fill)
        done = end
    return "\n".join(result + lines[done:])


def meaning(source):
    return " ".join(re.sub(r"\s+", " ", parser().render(source)).split())


def main():
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("--check", action="store_true", help="change nothing, and fail where something would change")
    arguments.add_argument("--fill", action="store_true", help="let sentences share lines, as in README.md")
    arguments.add_argument("files", nargs="+", type=pathlib.Path, metavar="FILE.md")
    options = arguments.parse_args()
    wrong = 0
    for path in options.files:
        source = path.read_text(encoding="utf-8")
        result = rewrapped(source, options.fill)
        if meaning(result) != meaning(source):
            sys.exit(f"{path}: its meaning would change; nothing is written")
        if result == source:
            continue
        wrong += 1
        if options.check:
            print(f"{path}: not wrapped at {COLUMNS} columns")
        else:
            path.write_text(result, encoding="utf-8")
    sys.exit(1 if options.check and wrong else 0)


if __name__ == "__main__":
    main()
