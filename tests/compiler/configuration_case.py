# SPDX-License-Identifier: MIT
"""A directory with configuration files in it, for tests."""

import pathlib
import tempfile
import unittest

from overtake_command import overtake


class Case(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)

    def write(self, **groups):
        """Writes groups of keys, each in the form of YAML's `key: value` lines."""
        lines = []
        for group, keys in groups.items():
            lines.append(f"{group}:")
            lines += [f"  {key}: {value}" for key, value in keys.items()]
        path = self.directory / "config.yaml"
        path.write_text("\n".join(lines) + "\n")
        return path

    def refusal(self, path, *arguments):
        result = overtake("compile", "--config", path, *arguments)
        self.assertEqual(result.returncode, 1, result.stdout)
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        return result.stderr
