# SPDX-License-Identifier: MIT
"""Sentences name who acts, as CONTRIBUTING.md says under "Plain English".

Counts the lines of tracked files that contain one of WORDS. There are at most MOST beside those of EXEMPT.
A change that removes such a line lowers MOST.
"""

import fnmatch
import pathlib
import re
import subprocess
import sys
import unittest

PROJECT = pathlib.Path(__file__).resolve().parents[2]
MOST = 0
# In two parts each, so that this file contains none of them.
WORDS = [start + end for start, end in (
    ("no", "body"), ("some", "body"), ("any", "body"), ("every", "body"), ("who", "ever"), ("hi", "s"), ("hi", "m"),
    ("is ", "told"), ("are ", "told"), ("says ", "so"), ("no ", "news"), ("as ", "ever"), ("the ", "like"))]
PATTERN = re.compile(r"\b(" + "|".join(WORDS) + r")\b", re.IGNORECASE)
# (files, what the line contains, why it stays)
USER = "the system's user of that name"
EXEMPT = [
    ("CONTRIBUTING.md", r"^\| .* \| .* \|$", "the examples of sentences before and after"),
    ("docs/man/overtake-serve.1", r'the unprivileged user "nobody"', USER),
    ("docs/use/server.md", r"the user `nobody`", USER),
    ("tests/kmod/*.c", r"\bNOBODY\b", USER),
    ("tests/kmod/attack*.c", r"attacker is nobody", USER),
    ("tests/kmod/*", r"user nobody", USER),
    ("tests/overtake/run-kernel", r"reuid=nobody|daemon nobody", USER),
    ("tests/overtake/test_engine_libraries.cpp", r"uid_t nobody|\(nobody\)|, nobody,", USER),
    ("tests/overtake/test_serve.py", r"user nobody|\"nobody\"", USER),
    ("tests/structure/test_plain_english.py", r"USER\),|NEW_LINE", "this table"),
    ("tools/cli/serve.cpp", r"\"nobody\"|default: nobody", USER),
]
NEW_LINE = "/* The device wakes whoever waits. */"


def tracked():
    """Paths of the tracked files, relative to the project; none without git."""
    listed = subprocess.run(["git", "-C", str(PROJECT), "ls-files", "-z"], capture_output=True, text=True, check=False)
    return [name for name in listed.stdout.split("\0") if name]


def text_of(name):
    path = PROJECT / name
    data = path.read_bytes() if path.is_file() else b""
    return "" if b"\0" in data else data.decode(errors="replace")


def exemption(name, line):
    """Index in EXEMPT, or None."""
    for index, (files, what, _) in enumerate(EXEMPT):
        if fnmatch.fnmatch(name, files) and re.search(what, line):
            return index
    return None


def lines_with_words(name, text):
    """(number, line) of each line with one of the words, exempt or not."""
    lower = text.lower()
    if not any(word in lower for word in WORDS):
        return []
    return [(number, line) for number, line in enumerate(text.splitlines(), 1) if PATTERN.search(line)]


def offences(name, text):
    """file:line: line, of each that is not exempt."""
    return [f"{name}:{number}: {line.strip()}" for number, line in lines_with_words(name, text)
            if exemption(name, line) is None]


class PlainEnglish(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.texts = {name: text_of(name) for name in tracked()}
        if not cls.texts:
            raise unittest.SkipTest("no git checkout")

    def test_sentences_name_who_acts(self):
        found = [line for name, text in self.texts.items() for line in offences(name, text)]
        self.assertLessEqual(len(found), MOST, "\n".join(["name the client, process, job or user instead:"] + found))
        self.assertEqual(len(found), MOST, "there are fewer: lower MOST")

    def test_each_exemption_is_needed(self):
        needed = {exemption(name, line) for name, text in self.texts.items() for _, line in lines_with_words(name, text)}
        self.assertEqual([EXEMPT[index] for index in set(range(len(EXEMPT))) - needed], [])

    def test_a_new_line_is_noticed(self):
        for name in ("kmod/overtake_job.c", "docs/reference/driver.md", "tests/kmod/test_fair.c", "tools/cli/serve.cpp"):
            text = self.texts[name]
            for word in WORDS:
                for line in (NEW_LINE.replace("whoever", word), word.capitalize() + " waits."):
                    with self.subTest(name=name, line=line):
                        self.assertEqual(len(offences(name, text + line + "\n")), len(offences(name, text)) + 1)

    def test_parts_of_words_are_no_words(self):
        self.assertEqual(offences("a.c", "/* This history, himalayan, nobodys_fault, as everything */"), [])


if __name__ == "__main__":
    if not tracked():
        print("skipped: no git checkout")
        sys.exit(0)
    unittest.main()
