# SPDX-License-Identifier: MIT
"""Messages of commits have the form that CONTRIBUTING.md gives them: `area: what it does now`, and why."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

PROJECT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(PROJECT / "scripts"))
from commit_message import faults, without_comments  # noqa: E402

# The rule holds for the commits after this one.
BEFORE = "1b3aa6c6faff03099a89bc24df43dfabd270806b"
NEW_LINE = "\n"


def git(*arguments):
    """Standard output, or None if git fails."""
    result = subprocess.run(["git", "-C", str(PROJECT), *arguments], capture_output=True, text=True, check=False)
    return result.stdout if result.returncode == 0 else None


def messages():
    """(hash, message) of each commit under the rule; merges are exempt. None without history."""
    if git("merge-base", "--is-ancestor", BEFORE, "HEAD") is None:
        return None
    log = git("log", "--no-merges", "--format=%H%n%B%x00", f"{BEFORE}..HEAD")
    return [entry.strip("\n").partition("\n")[::2] for entry in log.split("\0") if entry.strip("\n")]


class CommitMessages(unittest.TestCase):
    def test_each_says_what_an_area_does_now_and_why(self):
        found = [
            f"{commit} ({message.partition(NEW_LINE)[0]}): {fault}"
            for commit, message in messages()
            for fault in faults(message.strip("\n"))
        ]
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

    def test_a_hook_reads_the_message_as_git_keeps_it(self):
        scissors = "# ------------------------ >8 ------------------------\ndiff --git a b\n"
        for text in ("\nkmod: refuse it \n\nWhy.\n# Changes to be committed:\n", "kmod: refuse it\n\nWhy.\n" + scissors):
            self.assertEqual(without_comments(text), "kmod: refuse it\n\nWhy.")

    def test_the_hook_refuses_what_the_test_would(self):
        for text, status in (
            ("kmod: refuse it\n\nWhy.\n", 0),
            ("kmod: refuse it. \n\nWhy.\n", 1),
            ("kmod: refuse it\n# ---- >8 ----\ndiff\n", 1),
            ("Merge branch 'main'\n", 0),
            ("More words\n", 1),
            ("fixup! kmod: refuse it\n", 0),
        ):
            with self.subTest(text=text), tempfile.NamedTemporaryFile("w") as file:
                file.write(text)
                file.flush()
                run = subprocess.run([PROJECT / "scripts/commit_message.py", file.name], capture_output=True, text=True, check=False)
                self.assertEqual((run.returncode, run.stderr != ""), (status, status == 1), run.stderr)


if __name__ == "__main__":
    if messages() is None:
        print("skipped: no git checkout with the project's history")
        sys.exit(0)
    unittest.main()
