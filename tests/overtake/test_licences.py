# SPDX-License-Identifier: MIT
"""LICENSES holds the text of every licence and exception that an SPDX line of the project names, and no other."""

import pathlib
import re
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
# Folders without files of the project.
ELSEWHERE = {"build", ".git"}
TAG = re.compile(rb"SPDX-License-Identifier: ([-A-Za-z0-9.() ]+)")
OPERATORS = {"AND", "OR", "WITH"}


def identifiers():
    """Returns the identifiers in use, each with a file that names it."""
    found = {}
    for folder in SOURCE.iterdir():
        if folder.name in ELSEWHERE:
            continue
        for path in [folder] if folder.is_file() else folder.rglob("*"):
            if not path.is_file():
                continue
            # The line is at the top; a later one may be a text about such lines.
            line = TAG.search(path.read_bytes()[:200])
            for word in re.findall(r"[A-Za-z0-9][-A-Za-z0-9.]*", line[1].decode()) if line else []:
                if word not in OPERATORS:
                    found.setdefault(word, path)
    return found


class Licences(unittest.TestCase):
    def test_every_identifier_has_its_text(self):
        used = identifiers()
        self.assertGreaterEqual(set(used), {"MIT", "GPL-2.0-only", "Linux-syscall-note"})
        texts = {path.stem: path for path in (SOURCE / "LICENSES").glob("*.txt")}
        for name, path in used.items():
            with self.subTest(identifier=name, named_by=str(path.relative_to(SOURCE))):
                self.assertIn(name, texts)
        self.assertEqual(set(texts) - set(used), set())

    def test_texts_are_whole(self):
        ends = {
            "MIT": "DEALINGS IN THE\nSOFTWARE.",
            "GPL-2.0-only": "use the GNU Lesser General\nPublic License instead of this License.",
            "Linux-syscall-note": "Linus Torvalds",
        }
        for name, end in ends.items():
            with self.subTest(identifier=name):
                text = (SOURCE / f"LICENSES/{name}.txt").read_text()
                self.assertTrue(text.rstrip().endswith(end))


if __name__ == "__main__":
    unittest.main()
