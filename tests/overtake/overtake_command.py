# SPDX-License-Identifier: MIT
"""Runs the overtake command for the tests of this directory; OVERTAKE names the binary."""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BINARY = os.environ.get("OVERTAKE", str(SOURCE / "build/bin/overtake"))
MAKE_MODEL = os.environ.get("MAKE_MODEL", str(SOURCE / "build/release/tests/make_model"))


def overtake(*arguments):
    """Returns the finished process with text output."""
    command = [BINARY, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


class CommandTest(unittest.TestCase):
    """A test that has a directory of its own."""

    maxDiff = None

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)

    def make_model(self, name="model.ovm", cycles=None):
        """Makes a compiled model of two tensors of 2 elements. The model runs on the BPU, for `cycles` cycles if given,
        and then on the CPU."""
        path = self.directory / name
        subprocess.run([MAKE_MODEL, path, *([] if cycles is None else [str(cycles)])], check=True)
        return path

    def succeed(self, *arguments):
        result = overtake(*arguments)
        self.assertEqual(result.returncode, 0, f"{arguments}: {result.stderr}")
        return result.stdout

    def succeed_json(self, *arguments):
        return json.loads(self.succeed(*arguments, "--json"))

    def refuse(self, status, text, *arguments):
        """The command ends with this status, nothing on standard output, and one line that has
        `text`."""
        result = overtake(*arguments)
        self.assertEqual(result.returncode, status, f"{arguments}: {result.stderr}")
        self.assertEqual(result.stdout, "")
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        self.assertIn(text, result.stderr)
