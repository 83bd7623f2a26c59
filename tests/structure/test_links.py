# SPDX-License-Identifier: MIT
"""Links of the pages lead to files and sections that exist, and each page stands in the index of its folder."""

import os
import pathlib
import re
import subprocess
import sys
import unittest

PROJECT = pathlib.Path(__file__).resolve().parents[2]
# Also of a picture that is a link itself, and with a title.
LINK = re.compile(r"\]\(([^)\s]+)(?: +\"[^\"]*\")?\)")
CODE = re.compile(r"^ *```.*?^ *```$|`[^`\n]+`", re.MULTILINE | re.DOTALL)
FENCE = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)
# The levels that the site has names for
HEADING = re.compile(r"^#{1,4} +(.*?) *$", re.MULTILINE)


def pages():
    """Tracked pages, relative to the project; none without git."""
    listed = subprocess.run(["git", "-C", str(PROJECT), "ls-files", "-z", "*.md"], capture_output=True, text=True, check=False)
    return [pathlib.Path(name) for name in listed.stdout.split("\0") if name and (PROJECT / name).is_file()]


def sections(text):
    """Returns the anchors of the headings of a page."""
    found = set()
    for heading in HEADING.findall(FENCE.sub("", text)):
        words = re.sub(r"\[([^][]*)\]\([^)]*\)", r"\1", heading).lower()
        name = re.sub(r"[^\w -]", "", words).replace(" ", "-")
        found.add(name if name not in found else f"{name}-1")
    return found


def dead_links(page, text, read):
    """Yields the links of a page that lead nowhere. `read` returns the text of a file, or None."""
    for target in LINK.findall(CODE.sub("", text)):
        path, _, section = target.partition("#")
        if re.match(r"[a-z]+:", target):
            continue
        file = pathlib.Path(os.path.normpath(page.parent / path)) if path else page
        found = read(file) if path else text
        if found is None or (section and file.suffix == ".md" and section not in sections(found)):
            yield target


def read(file):
    path = PROJECT / file
    if path.is_dir():
        return ""
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else None


class Links(unittest.TestCase):
    def test_they_lead_somewhere(self):
        dead = [f"{page}: {target}" for page in pages() for target in dead_links(page, read(page), read)]
        self.assertEqual(dead, [])

    def test_a_dead_one_is_noticed(self):
        files = {pathlib.Path("docs/a.md"): "# One thing, and `code`\n", pathlib.Path("b.h"): ""}
        for link, is_dead in (("a.md", False), ("a.md#one-thing-and-code", False), ("a.md#two", True), ("c.md", True),
                              ("../b.h", False), ("../c.h", True), ("#here", False), ("#there", True), ("https://nowhere", False)):
            with self.subTest(link=link):
                for text in (f"A [link\nof two lines]({link}).", f"[![picture](a.md)]({link})", f'[a [b] c]({link} "title")'):
                    text = f"## Here\n{text}\n  ```\n[text](of-code.md)\n  ```\n`[text](of-code.md)`\n"
                    self.assertEqual(list(dead_links(pathlib.Path("docs/x.md"), text, files.get)) != [], is_dead)

    def test_each_page_stands_in_the_index_of_its_folder(self):
        for page in pages():
            index = page.parent / "README.md"
            if page.parent.parent == pathlib.Path("docs") and page != index:
                with self.subTest(page=page):
                    self.assertIn(f"]({page.name})", read(index))
                    self.assertIn(f"]({page.relative_to('docs')})", read(pathlib.Path("docs/README.md")))

    def test_the_site_has_each_page_once(self):
        sys.path.insert(0, str(PROJECT / "scripts"))
        import site_pages  # pylint: disable=import-outside-toplevel
        listed = [page for _, of_part in site_pages.parts() for page in of_part]
        self.assertEqual(sorted([*listed, "README.md"]), sorted(map(str, pages())))


if __name__ == "__main__":
    if not pages():
        print("skipped: no git checkout")
        sys.exit(0)
    unittest.main()
