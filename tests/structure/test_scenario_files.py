# SPDX-License-Identifier: MIT
"""The tests' scenarios and timelines have one record a line, as scripts/format_scenarios.py writes them."""

import json
import pathlib
import sys
import unittest

PROJECT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(PROJECT / "scripts"))
import format_scenarios  # noqa: E402

FORM = """{
 "version": 1,
 "core_limit": [1, 2],
 "env": {"HB_MAX_TASK_NUM": 2},
 "models": {
  "A": {"segments": [{"cpu": 5}, {"bpu": [1, 2]}]},
  "B": {"segments": [{"bpu": [0.25]}]}
 },
 "tasks": [
  {"id": "a", "at": 0, "model": "A"},
  {"id": "b", "at": 9223372036854775807, "models": ["A", "B"], "dispatched": null}
 ],
 "cancels": []
}
"""


class ScenarioFiles(unittest.TestCase):
    def test_every_layout_becomes_the_form(self):
        for indent in (None, 1, 4):
            self.assertEqual(format_scenarios.formatted(json.dumps(json.loads(FORM), indent=indent)), FORM)
        self.assertEqual(format_scenarios.formatted(FORM), FORM)

    def test_a_key_given_twice_is_not_lost(self):
        with self.assertRaisesRegex(ValueError, "given twice"):
            format_scenarios.formatted('{"jobs": [{"at": 1, "at": 2}]}')

    def test_files(self):
        files = format_scenarios.files()
        self.assertGreater(len(files), 80)
        self.assertEqual([str(path.relative_to(PROJECT)) for path in files
                          if path.read_text() != format_scenarios.formatted(path.read_text())], [],
                         "make format writes them with one record a line")


if __name__ == "__main__":
    sys.exit(unittest.main())
