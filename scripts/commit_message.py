#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that the message of a commit has the form that CONTRIBUTING.md requires.

As a hook of git it refuses a wrong message before the commit exists:

    ln -s ../../scripts/commit_message.py .git/hooks/commit-msg
"""

import pathlib
import re
import sys

LONGEST = 72
SUBJECT = re.compile(r"[a-z0-9][a-zA-Z0-9_./, -]*: \S.*[^.]")


def faults(message):
    """Yields each fault of a message, in words."""
    subject, _, rest = message.partition("\n")
    if len(subject) > LONGEST:
        yield f"its subject has {len(subject)} characters, and may have {LONGEST}"
    if not SUBJECT.fullmatch(subject):
        yield "its subject is not `area: what it does now`, without a full stop"
    if ";" in subject:
        yield "its subject has a semicolon: one change, one commit"
    if rest and not rest.startswith("\n"):
        yield "the line after its subject is not empty"
    if not rest.strip():
        yield "it has no body that says why"


def without_comments(text):
    """Returns a message as git keeps it: without comments, the change below the scissors line, white space at
    ends of lines, and empty lines around it."""
    text = re.split(r"^# -+ >8 -+$", text, maxsplit=1, flags=re.MULTILINE)[0]
    return "\n".join(line.rstrip() for line in text.splitlines() if not line.startswith("#")).strip("\n")


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: commit_message.py FILE")
    message = without_comments(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"))
    if re.match(r"Merge |(fixup|squash)! ", message):
        return  # git writes these messages; the test reads the others
    found = list(faults(message))
    for fault in found:
        print(f"the message of the commit: {fault}", file=sys.stderr)
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
