# SPDX-License-Identifier: MIT
"""scripts/quick.py chooses tests, scripts/slowest_tests.py names the slowest, scripts/fresh.sh knows allowed skips."""

import importlib.util
import pathlib
import re
import subprocess
import unittest

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "scripts"


def load(name):
    spec = importlib.util.spec_from_file_location(name, SCRIPTS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


quick = load("quick")
slowest = load("slowest_tests")


def test(name, *command, environment=()):
    return {"name": name, "command": [str(quick.PROJECT / part) for part in command],
            "properties": [{"name": "ENVIRONMENT", "value": [f"A={quick.PROJECT / path}" for path in environment]}]}


class Quick(unittest.TestCase):
    def select(self, tests, words, cost, budget, can_notice=lambda test: True):
        chosen, left = quick.select(tests, can_notice, words, lambda name: cost.get(name, 1), budget)
        return [tests[index - 1]["name"] for index in chosen], left

    def test_the_nearest_come_first_then_the_quickest(self):
        tests = [test("slow", "a"), test("fast", "b"), test("compiler_near", "c"), test("other", "tests/compiler/d.py")]
        self.assertEqual(self.select(tests, {"compiler"}, {"slow": 30, "fast": 1, "compiler_near": 8, "other": 5}, 20),
                         (["other", "compiler_near", "fast"], 1))

    def test_one_is_always_chosen(self):
        self.assertEqual(self.select([test("slow", "a")], set(), {"slow": 100}, 1), (["slow"], 0))

    def test_what_cannot_notice_it_is_left_out_and_not_counted(self):
        tests = [test("a", "a"), test("b", "b")]
        self.assertEqual(self.select(tests, set(), {}, 10, lambda test: test["name"] == "b"), (["b"], 0))

    def test_files_are_those_of_the_command_and_of_the_environment(self):
        found = list(quick.files_of(test("a", "tests/a.py", environment=["build/bin/overtake"])))
        self.assertEqual(found, [quick.PROJECT / "tests/a.py", quick.PROJECT / "build/bin/overtake"])
        self.assertEqual(list(quick.files_of({"command": ["/usr/bin/python3", "relative", "--x=1"]})), [])

    def test_costs_are_read_as_ctest_writes_them(self):
        self.assertEqual(quick.costs("a 3 0.5\nname # GetParam() = 1 2 7\n---\nb\n"), {"a": 0.5, "name # GetParam() = 1": 7})

    def test_folders_leave_out_what_all_have(self):
        self.assertEqual(quick.folders(["tools/compiler/lower/a.cpp", "README.md"]), {"compiler", "lower"})


class Slowest(unittest.TestCase):
    def test_a_suite_counts_only_without_parts(self):
        text = "# tests/a/run: 9 s\nok x\n# part one: 2 s\n# part two: 3 s\n# tests/b/run: 5 s\n# late: 1 s\n"
        self.assertEqual(list(slowest.of_log(text)),
                         [(9, "tests/a/run"), (2, "part one"), (3, "part two"), (1, "late")])


class AllowedSkips(unittest.TestCase):
    FILE = SCRIPTS.parent / "tests/skips-allowed"

    def test_only_those_of_the_file_are_allowed(self):
        """With what scripts/fresh.sh makes of the file."""
        function = re.search(r"^skips_not_allowed\(\)\n\{.*?^\}$", (SCRIPTS / "fresh.sh").read_text(), re.MULTILINE | re.DOTALL)[0]
        log = ("unit: ok a.New.Test # SKIP a new reason\n"
               "vm: ok x # SKIP this kernel has no fault injection\n"
               "unit: ok libruntime.Server.A # SKIP needs root, to be two users\n"
               "unit: ok passed\n")
        result = subprocess.run(["bash", "-c", f'{function}\nskips_not_allowed <(printf %s "$1")', "bash", log],
                                cwd=SCRIPTS.parent, capture_output=True, text=True, check=False)
        self.assertEqual((result.stdout, result.stderr), (log.splitlines(True)[0], ""))

    def test_each_line_names_a_reason(self):
        for line in self.FILE.read_text().splitlines():
            if line and not line.startswith("#"):
                with self.subTest(line=line):
                    self.assertRegex(line, r"^\^.* # SKIP.*\t# \S")


if __name__ == "__main__":
    unittest.main()
