# SPDX-License-Identifier: MIT
"""Messages of commits have the form that CONTRIBUTING.md gives them: `area: what it does now`, and why."""

import pathlib
import re
import subprocess
import sys
import unittest

PROJECT = pathlib.Path(__file__).resolve().parents[2]
# The rule holds for the commits after this one.
BEFORE = "1b3aa6c6faff03099a89bc24df43dfabd270806b"
LONGEST = 72
NEW_LINE = "\n"
SUBJECT = re.compile(r"[a-z0-9][a-zA-Z0-9_./, -]*: \S.*[^.]")


def git(*arguments):
    """Standard output, or None if git fails."""
    result = subprocess.run(["git", "-C", str(PROJECT), *arguments], capture_output=True, text=True, check=False)
    return result.stdout if result.returncode == 0 else None


def faults(message):
    """What is wrong with a message, in words."""
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


def messages():
    """(short hash, message) of each commit under the rule; merges are exempt. None without history."""
    if git("merge-base", "--is-ancestor", BEFORE, "HEAD") is None:
        return None
    log = git("log", "--no-merges", "--format=%h%n%B%x00", f"{BEFORE}..HEAD")
    return [entry.strip("\n").partition("\n")[::2] for entry in log.split("\0") if entry.strip("\n")]


class CommitMessages(unittest.TestCase):
    def test_each_says_what_an_area_does_now_and_why(self):
        found = [f"{commit} ({message.partition(NEW_LINE)[0]}): {fault}" for commit, message in messages() for fault in faults(message.strip("\n"))]
        self.assertEqual(found, [])

    def test_a_fault_is_noticed(self):
        good = "kmod: refuse unknown submit flags\n\nA later version gives them a meaning."
        self.assertEqual(list(faults(good)), [])
        self.assertEqual(list(faults("tests/kmod, docs: words\n\nWhy.")), [])
        for message, fault in (
            (good.replace("flags", "flags" + 40 * "s"), "may have 72"),
            (good.replace("kmod: r", "R"), "area"),
            (good.replace("kmod:", "Kmod:"), "area"),
            (good.replace("flags", "flags."), "full stop"),
            (good.replace("flags", "flags; and others"), "semicolon"),
            (good.replace("\n\n", "\n"), "not empty"),
            (good.splitlines()[0], "no body"),
            (good.splitlines()[0] + "\n\n", "no body"),
        ):
            with self.subTest(message=message):
                (found,) = faults(message)
                self.assertIn(fault, found)


if __name__ == "__main__":
    if messages() is None:
        print("skipped: no git checkout with the project's history")
        sys.exit(0)
    unittest.main()
