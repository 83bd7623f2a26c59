# SPDX-License-Identifier: MIT
"""The program fuzz_scheduler: its options, its output and its refusals."""

import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

PROGRAM = os.environ["FUZZ_SCHEDULER"]


class Program(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)

    def run_program(self, *options):
        return subprocess.run(
            [PROGRAM, *options], cwd=self.directory, capture_output=True, text=True, check=False
        )

    def test_clean_cases_are_counted_and_leave_no_file(self):
        results = [
            self.run_program("--cases", "30", "--seed", "7", "--commands", "20", "--threads", threads)
            for threads in ("1", "2")
        ]
        for result in results:
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertRegex(result.stdout, r"\A30 cases clean: \d+ commands, .* FCs\n\Z")
        commands = int(re.search(r"(\d+) commands", results[0].stdout)[1])
        self.assertGreaterEqual(commands, 30 * 20)
        self.assertLess(commands, 30 * 100)
        self.assertEqual(results[0].stdout, results[1].stdout)
        other = self.run_program("--cases", "30", "--seed", "8", "--commands", "20")
        self.assertNotEqual(other.stdout, results[0].stdout)
        self.assertEqual(list(self.directory.iterdir()), [])

    def test_scenarios_with_processors_are_counted(self):
        result = self.run_program("--processors", "--cases", "20", "--seed", "3")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(
            result.stdout, r"\A20 scenarios clean: \d+ tasks, \d+ of them cancelled, \d+ dropped, \d+ runs, \d+ of them failed\n\Z"
        )
        self.assertEqual(list(self.directory.iterdir()), [])

    def test_a_scenario_with_processors_is_replayed(self):
        scenario = self.directory / "scenario.json"
        document = {
            "version": 1,
            "kind": "task",
            "processors": [{"name": "npu", "class": "npu", "cores": 1}],
            "models": {"M": {"units": [{"time": {"npu": 5}}]}},
            "tasks": [{"id": "a", "at": 0, "model": "M"}],
        }
        scenario.write_text(json.dumps(document), encoding="utf-8")
        result = self.run_program("scenario.json")
        self.assertEqual((result.returncode, result.stdout), (0, "clean: 1 task\n"), result.stderr)
        document["tasks"][0]["model"] = "N"
        scenario.write_text(json.dumps(document), encoding="utf-8")
        result = self.run_program("scenario.json")
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stderr, r'\Afuzz_scheduler: scenario\.json: tasks\[0\]\.model: "N" is no model')

    def test_wrong_options_are_refused(self):
        for options, message in (
            ((), "--cases or CASE.json is required"),
            (("--cases", "0"), "--cases: '0' is not a whole number"),
            (("--commands", "5"), "--commands requires --cases"),
            (("--processors",), "--processors requires --cases"),
            (("--cases", "5", "--processors", "--commands", "5"), "excludes"),
            (("--cases", "5", "case.json"), "excludes"),
            (("--cases", "5", "--sweep=a"), "--sweep=a"),
        ):
            with self.subTest(options):
                result = self.run_program(*options)
                self.assertEqual(result.returncode, 2)
                self.assertIn(message, result.stderr)

    def test_a_file_that_is_no_case_is_refused_with_its_name(self):
        self.assertIn("absent.json: cannot be read", self.run_program("absent.json").stderr)
        case = self.directory / "case.json"
        for text, message in (
            ("{", "parse error"),
            (json.dumps({"version": 1, "kind": "task"}), "kind: not a fuzz case"),
            (json.dumps({"version": 1, "kind": "fuzz"}), "level: missing"),
        ):
            case.write_text(text, encoding="utf-8")
            result = self.run_program("case.json")
            self.assertEqual(result.returncode, 1)
            self.assertRegex(result.stderr, r"\Afuzz_scheduler: case\.json: .*" + message)


if __name__ == "__main__":
    unittest.main()
