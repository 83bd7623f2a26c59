# SPDX-License-Identifier: MIT
"""Each public class, function and member of the C++ API has a comment: doxygen has nothing to complain of, so `make docs`
ends well."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

PROJECT = pathlib.Path(__file__).resolve().parents[2]


def complaints(headers="libruntime/include/overtake"):
    """Returns doxygen's messages about these headers, with the settings of `make docs`."""
    with tempfile.TemporaryDirectory() as folder:
        settings = (PROJECT / "docs/Doxyfile").read_text(encoding="utf-8").replace("libruntime/include/overtake", headers, 1)
        result = subprocess.run(["doxygen", "-"], input=settings, cwd=PROJECT, capture_output=True, text=True, check=False,
                                env={**os.environ, "OVERTAKE_VERSION": "0", "OVERTAKE_SITE": folder})
        return result.returncode, [line for line in result.stderr.splitlines() if "error:" in line or "warning:" in line]


class PublicHeaders(unittest.TestCase):
    def test_all_that_is_public_is_described(self):
        self.assertEqual(complaints(), (0, []))

    def test_a_member_without_a_comment_is_noticed(self):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "a.hpp").write_text("#pragma once\nnamespace overtake {\n/// A thing.\nstruct Thing {\n    int size;\n};\n}\n")
            status, said = complaints(folder)
            self.assertNotEqual(status, 0)
            self.assertIn("Member size (variable) of struct overtake::Thing is not documented", "\n".join(said))


if __name__ == "__main__":
    if not shutil.which("doxygen"):
        print("skipped: no doxygen, which scripts/setup.sh test installs")
        sys.exit(0)
    unittest.main()
