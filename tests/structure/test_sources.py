# SPDX-License-Identifier: MIT
"""Sources are whole, and files and functions short enough to be read in one go.

No file has the marks of a merge. A source file has at most 600 lines, a function of tools/ and
libruntime/ at most 80. Functions are found by the formatter's layout: one begins in the first column
and ends with a brace there.
"""

import pathlib
import re
import subprocess
import sys
import unittest

PROJECT = pathlib.Path(__file__).resolve().parents[2]
FILE_LINES = 600
FUNCTION_LINES = 80
SOURCES = (".c", ".h", ".cpp", ".hpp", ".py", ".sh")
# A first line in the first column that opens a brace, but not of a function's body.
NO_FUNCTION = re.compile(r'(#|//|/\*| \*|\}|namespace\b|extern "C"|(typedef )?(struct|class|enum|union)\b[^()]*$'
                         r'|[^()]*=|template\b)')


def sources():
    """Returns paths of the project's sources; without git, of all files that are not in build/."""
    listed = subprocess.run(["git", "-C", str(PROJECT), "ls-files"], capture_output=True, text=True,
                            check=False).stdout.splitlines()
    listed = listed or [str(path.relative_to(PROJECT)) for path in PROJECT.rglob("*")]
    return [PROJECT / name for name in listed
            if name.endswith(SOURCES) and not name.startswith("build/") and (PROJECT / name).exists()]


def functions(lines):
    """(number of the first line, count of lines) of each function."""
    begin = None
    for number, line in enumerate(lines, 1):
        if begin is None:
            if line == "{" or line.endswith("{") and line[0] not in " \t" and not NO_FUNCTION.match(line):
                begin = number
            elif line.endswith("{") and line[0] in " \t" and number > 1 and is_continued(lines, number):
                begin = number
        elif line.startswith("}"):
            yield begin, number - begin + 1
            begin = None


def is_continued(lines, number):
    """Whether the line ends a head of a function that began in the first column above it."""
    for line in reversed(lines[:number - 1]):
        if not line or line.endswith((";", "{", "}")):
            return False
        if line[0] not in " \t":
            return "(" in line and not NO_FUNCTION.match(line)
    return False


class Sources(unittest.TestCase):
    def test_the_finder_finds_functions(self):
        text = ("namespace a {\nint f() {\n    if (x) {\n    }\n}\n\nstruct s {\n    int g() {\n    }\n};\n\n"
                "static void h(void)\n{\n\treturn;\n}\n\nvoid i(int one,\n       int two) {\n    j();\n}\n"
                "const int t[] = {\n    1,\n};\n}\n")
        self.assertEqual(list(functions(text.splitlines())), [(2, 4), (13, 3), (18, 3)])

    def test_no_conflict_of_a_merge_is_left(self):
        marker = re.compile(r"^(<{7}|>{7}) ", re.MULTILINE)
        pages = [*PROJECT.glob("*.md"), *PROJECT.glob("docs/**/*.md"), *PROJECT.glob("docs/man/*")]
        self.assertGreater(len(pages), 20)
        self.assertEqual([str(path) for path in [*sources(), *pages] if marker.search(path.read_text())], [])

    def test_files(self):
        found = sources()
        self.assertGreater(len(found), 300)
        self.assertEqual([f"{path.relative_to(PROJECT)}: {count} lines" for path in found
                          if (count := len(path.read_bytes().splitlines())) > FILE_LINES], [])

    def test_functions(self):
        long, count = [], 0
        for path in sources():
            if path.relative_to(PROJECT).parts[0] not in ("tools", "libruntime") or path.suffix not in SOURCES[:4]:
                continue
            for begin, lines in functions(path.read_text().splitlines()):
                count += 1
                if lines > FUNCTION_LINES:
                    long.append(f"{path.relative_to(PROJECT)}:{begin}: {lines} lines")
        self.assertGreater(count, 1500)
        self.assertEqual(long, [])

    def test_examples_name_the_packages_whose_headers_they_include(self):
        seen = 0
        for path in sorted((PROJECT / "examples").glob("*.c*")):
            text = path.read_text(encoding="utf-8")
            for names in re.findall(r"pkg-config --cflags --libs ([a-z ]+)\)", text):
                seen += 1
                included = {"dnn" for _ in re.findall(r'#include [<"]dnn/', text)}
                included |= {"overtake" for _ in re.findall(r'#include [<"]overtake/', text)}
                self.assertEqual(set(names.split()), included, path.name)
        self.assertGreater(seen, 4)


if __name__ == "__main__":
    sys.exit(unittest.main())
