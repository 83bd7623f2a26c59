#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Builds the site of the documentation, build/docs/site/index.html, for reading without a network.

    scripts/site_pages.py [DIRECTORY]

The site has the pages of the repository, with their links, and copies of the other files that they link to.
A link to a page, section or file that does not exist is an error, printed with its page. DIRECTORY is the
site's directory (build/docs/site).
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

PROJECT = pathlib.Path(__file__).resolve().parents[1]
LINK = re.compile(r"(!?\[[^][]*\])\(([^)\s]+)\)")
# Folders of pages in their order, and their titles in the menu.
FOLDERS = [("start", "First steps"), ("use", "Use"), ("reference", "Reference"), ("design", "Design")]
# Only pages of the site have this link, to the reference that doxygen makes from the headers.
API = '<p><a href="../../api/index.html">The C++ API, header by header</a></p>'
REST = ["docs/README.md", "examples/README.md", "models/README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"]


def pages():
    """Returns the pages of the repository."""
    listed = subprocess.run(["git", "-C", str(PROJECT), "ls-files", "-z", "*.md"], capture_output=True, text=True, check=True)
    return [name for name in listed.stdout.split("\0") if name and (PROJECT / name).is_file()]


def parts():
    """Returns the titles of the menu's parts, and the pages in each."""
    folders = [(title, [f"docs/{folder}/README.md", *pages_of(folder)]) for folder, title in FOLDERS]
    return folders + [("More", REST)]


def menu():
    """Yields Sphinx's tables of contents, which also give the order of pages."""
    for title, listed in parts():
        yield "\n".join(["```{toctree}", ":hidden:", f":caption: {title}", "", *(page.removesuffix(".md") for page in listed), "```"])


def pages_of(folder):
    """Returns the folder's pages, in the order of its index."""
    text = (PROJECT / f"docs/{folder}/README.md").read_text(encoding="utf-8")
    return [f"docs/{folder}/{name}" for name in re.findall(r"^\| \[[^]]+\]\(([a-z0-9-]+\.md)\)", text, re.MULTILINE)]


class Layout:
    """Copies of the pages, and of the files that they link to, in a folder for Sphinx."""

    def __init__(self, folder):
        self._folder = folder
        self.complaints = []

    def add(self, page):
        text = (PROJECT / page).read_text(encoding="utf-8")
        # Every second part is code.
        pieces = re.split(r"(^```.*?^```$)", text, flags=re.MULTILINE | re.DOTALL)
        pieces[::2] = [LINK.sub(lambda link: self._link(page, *link.groups()), piece) for piece in pieces[::2]]
        text = "".join(pieces)
        if page == "README.md":
            text = "\n\n".join([text, *menu()]) + "\n"
        if page in ("docs/reference/README.md", "docs/reference/library.md"):
            text += f"\n{API}\n"
        self._path("index.md" if page == "README.md" else page).write_text(text, encoding="utf-8")

    def copy(self, file, name):
        shutil.copyfile(PROJECT / file, self._path(name))

    def _path(self, name):
        path = self._folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def _link(self, page, words, target):
        path, _, section = target.partition("#")
        if not path or re.match(r"[a-z]+:", path):
            return f"{words}({target})"
        file = pathlib.Path(os.path.normpath(pathlib.Path(page).parent / path))
        if not (PROJECT / file).exists():
            self.complaints.append(f"{page}: {target} does not exist")
        elif (PROJECT / file).is_dir():
            return words.lstrip("!")[1:-1]  # the site has no listings of folders
        elif file.name == "README.md" and file.parent == pathlib.Path():
            path = path.removesuffix("README.md") + "index.md"
            return f"{words}({path}{'#' if section else ''}{section})"
        elif file.suffix != ".md":
            self.copy(file, file)
        return f"{words}({target})"


def version():
    return re.search(r"^project\(overtake VERSION ([0-9.]+)", (PROJECT / "CMakeLists.txt").read_text(), re.MULTILINE)[1]


def succeeds(*command, **environment):
    return subprocess.run(command, cwd=PROJECT, env={**os.environ, "OVERTAKE_VERSION": version(), **environment}, check=False).returncode == 0


def may_replace(site):
    """Returns whether a directory is missing, empty or an earlier site, so that its removal loses nothing."""
    return not site.exists() or (site.is_dir() and ((site / ".buildinfo").is_file() or not any(site.iterdir())))


def main():
    site = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else PROJECT / "build/docs/site").absolute()
    if not may_replace(site):
        print(f"site_pages.py: {site} exists and is no site of before; name another directory", file=sys.stderr)
        return 1
    shutil.rmtree(site, ignore_errors=True)
    with tempfile.TemporaryDirectory() as folder:
        layout = Layout(pathlib.Path(folder))
        for page in pages():
            layout.add(page)
        layout.copy("docs/site/conf.py", "conf.py")
        for complaint in layout.complaints:
            print(complaint, file=sys.stderr)
        is_built = succeeds("sphinx-build", "-q", "-W", "--keep-going", "-b", "html", folder, str(site))
        is_built = is_built and succeeds("doxygen", "docs/Doxyfile", OVERTAKE_SITE=str(site))
    return 0 if is_built and not layout.complaints else 1


if __name__ == "__main__":
    sys.exit(main())
