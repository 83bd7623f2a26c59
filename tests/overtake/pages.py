# SPDX-License-Identifier: MIT
"""The commands in the project's Markdown pages."""

import re

ELISION = "[...]"


def blocks(page):
    """Yields (line number, language, lines) of each fenced block."""
    start, language, lines = None, "", []
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if not line.startswith("```"):
            lines.append(line)
        elif start is None:
            start, language, lines = number, line[3:], []
        else:
            yield start, language, lines
            start = None


def sessions(lines):
    """Splits a block into (command, output lines)."""
    found = []
    for line in lines:
        if line.startswith("$ "):
            found.append((line[2:], []))
        elif line.startswith("> ") and not found[-1][1]:
            found[-1] = (found[-1][0] + "\n" + line[2:], [])
        else:
            found[-1][1].append(line)
    return found


def matches(shown, printed):
    """Whether `printed` is `shown`, apart from trailing blanks and elided lines."""
    pattern = "".join(
        "(?:.*\n)*?" if line == ELISION else re.escape(line.rstrip()) + "\n"
        for line in "\n".join(shown).rstrip().split("\n")
    )
    text = "".join(line.rstrip() + "\n" for line in printed.rstrip().split("\n"))
    return re.fullmatch(pattern, text) is not None


def outside_fences(page):
    """Yields (line number, line) of the lines outside fenced blocks."""
    is_fenced = False
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if line.startswith("```"):
            is_fenced = not is_fenced
        elif not is_fenced:
            yield number, line


def pasted_commands(page):
    """Yields (line number, command) of the commands that a reader would paste: indented blocks, and fenced ones of
    language sh. A line that ends in a backslash continues in the next; a comment at its end is
    left out."""
    lines = [(number, line[4:]) for number, line in outside_fences(page) if line.startswith("    ")]
    for start, language, fenced in blocks(page):
        if language == "sh":
            lines += enumerate(fenced, start + 1)
    command, first = "", 0
    for number, line in lines:
        first = first if command else number
        command += re.sub(r"\s+# .*", "", line).strip()
        if command.endswith("\\"):
            command = command[:-1]
            continue
        if command:
            yield first, command
        command = ""
