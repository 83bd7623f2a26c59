# SPDX-License-Identifier: MIT
"""Documents are wrapped at 80 columns, and a sentence begins on a line of its own (scripts/wrap_documents.py)."""

import pathlib
import re
import unittest

PROJECT = pathlib.Path(__file__).resolve().parents[2]
COLUMNS = 80
FENCE = re.compile(r"^ *(```|~~~)")
# Tables, headings, indented commands and pictures are one line each.
WHOLE = re.compile(r"^( *\||#|    +\S|!\[|\[[^\]]+\]: )")
# Text that is not broken: code, and links with their text.
UNBREAKABLE = re.compile(r"(?:`[^`]*`|\[[^\]]*\]\([^)]*\)|\S)+")


def documents():
    return [path for path in sorted(PROJECT.glob("**/*.md")) if not {"build", ".git"} & set(path.relative_to(PROJECT).parts)]


def is_too_long(line):
    """Whether a line could have been broken before its end."""
    if len(line) <= COLUMNS:
        return False
    text = line.strip()
    words = UNBREAKABLE.findall(re.sub(r"^([-*>]|\d+\.) +", "", text))
    return len(words) > 1 and len(words[0]) + len(words[1]) + 5 < COLUMNS


def too_long(text):
    """(number, line) of each line of a paragraph that goes on behind the last column."""
    is_code = False
    for number, line in enumerate(text.splitlines(), 1):
        if FENCE.match(line):
            is_code = not is_code
        elif not is_code and not WHOLE.match(line) and is_too_long(line):
            yield number, line


SENTENCE_END = re.compile(r"[a-z)`*]{2}[.!?][)\"'*_]*$")
ABBREVIATION = re.compile(r"(?:^|\()(?:e\.g|i\.e|vs|cf|etc|No)\.$")


def shared(text):
    """(number, line) of each line of a paragraph in which a second sentence begins."""
    is_code = False
    for number, line in enumerate(text.splitlines(), 1):
        if FENCE.match(line):
            is_code = not is_code
        elif not is_code and not WHOLE.match(line):
            words = UNBREAKABLE.findall(line)
            if any(SENTENCE_END.search(word) and not ABBREVIATION.search(word) and after[0].isupper()
                   for word, after in zip(words, words[1:])):  # fmt: skip
                yield number, line


def cells(row):
    return len(re.sub(r"`[^`]*`|\\\|", "", row).strip().strip("|").split("|"))


def uneven_rows(text):
    """(number, row) of each row of a table that has another number of cells than the table's head."""
    head, is_code = None, False
    for number, line in enumerate(text.splitlines(), 1):
        is_code ^= bool(FENCE.match(line))
        if is_code or not line.startswith("|"):
            head = None
        elif head is None:
            head = cells(line)
        elif cells(line) != head:
            yield number, line


class DocumentLines(unittest.TestCase):
    def test_rows_of_a_table_have_the_cells_of_its_head(self):
        found = [f"{path.relative_to(PROJECT)}:{number}: {row}" for path in documents() for number, row in uneven_rows(path.read_text(encoding="utf-8"))]
        self.assertEqual(found, [])
        table = "| a | b |\n|---|---|\n| 1 | `x | y` |\n| 2 | 3 | | 4 | 5 |\n"
        self.assertEqual(list(uneven_rows(table)), [(4, "| 2 | 3 | | 4 | 5 |")])

    def test_paragraphs_are_wrapped(self):
        found = [f"{path.relative_to(PROJECT)}:{number}: {line}" for path in documents() for number, line in too_long(path.read_text(encoding="utf-8"))]
        self.assertEqual(found, [], "wrap them: scripts/wrap_documents.py FILE.md")

    def test_sentences_begin_lines(self):
        found = [
            f"{path.relative_to(PROJECT)}:{number}: {line}"
            for path in documents() if path != PROJECT / "README.md"
            for number, line in shared(path.read_text(encoding="utf-8"))
        ]  # fmt: skip
        self.assertEqual(found, [], "wrap them: scripts/wrap_documents.py FILE.md")
        self.assertEqual([number for number, _ in shared("A core runs `a.b`. It ends.\nAn FC (e.g. Conv) ends. (It does.)\nOne\nmore.\n")], [1])
        self.assertEqual(list(shared("```\nOne core. Two cores.\n```\n| One core. Two cores. |\n")), [])

    def test_a_long_line_is_noticed(self):
        long = "A client owns the memory that it maps, and the driver frees it with the last job.\n"
        self.assertEqual(list(too_long(long)), [(1, long.strip())])
        self.assertEqual([number for number, _ in too_long("- " + long)], [1])
        self.assertEqual(list(too_long("```sh\n" + long + "```\n")), [])
        self.assertEqual(list(too_long("| " + long)), [])
        self.assertEqual(list(too_long("[" + long.strip() + "](docs/README.md)\n")), [])
        self.assertEqual([number for number, _ in too_long("```\n```\n" + long)], [3])


if __name__ == "__main__":
    unittest.main()
