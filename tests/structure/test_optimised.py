# SPDX-License-Identifier: MIT
"""Installed programs are optimised: each source outside of tests/ is compiled with -O2 at least.

    test_optimised.py BUILD_DIRECTORY
"""

import json
import pathlib
import re
import shlex
import sys
import unittest

BUILD = pathlib.Path(sys.argv.pop(1)).resolve() if len(sys.argv) > 1 else None
LEVEL = re.compile(r"-O([0-9a-z]*)$")


def level(command):
    """The last -O of a command; the compiler's default is 0."""
    found = [match[1] or "1" for match in map(LEVEL.match, command) if match]
    return found[-1] if found else "0"


def sources(commands):
    """Returns (object, level) of each object that is compiled for more than tests."""
    for entry in commands:
        command = shlex.split(entry["command"])
        target = command[command.index("-o") + 1]
        if not target.startswith("tests/"):
            yield target, level(command)


class Optimised(unittest.TestCase):
    def test_the_last_option_counts(self):
        self.assertEqual(level(["c++", "-O3", "-c", "a.cpp", "-O0"]), "0")
        self.assertEqual(level(["c++", "-O1", "-Wall", "-O2"]), "2")
        self.assertEqual(level(["c++", "-O"]), "1")
        self.assertEqual(level(["c++", "-Og"]), "g")
        self.assertEqual(level(["c++"]), "0")

    def test_every_source_outside_of_tests_is_optimised(self):
        found = dict(sources(json.loads((BUILD / "compile_commands.json").read_text())))
        self.assertGreater(len(found), 60)
        self.assertTrue(any(name.startswith("tools/cli/") for name in found), "the command")
        self.assertTrue(any(name.startswith("libruntime/") for name in found), "the library")
        self.assertEqual({name: of for name, of in found.items() if of not in ("2", "3")}, {})


if __name__ == "__main__":
    unittest.main()
