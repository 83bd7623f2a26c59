# SPDX-License-Identifier: MIT
"""Settings of the scheduler in Python have the names and the defaults of firmware-sim/sched/settings.inc."""

import ast
import inspect
import json
import os
import pathlib
import subprocess
import unittest

import overtake

PACKAGE = pathlib.Path(overtake.__file__).parent
OF_THE_SCHEDULER = {"slots", "task_limit", "workers"}
OTHERS = {"max_priority", "core_limit", "service", "processors", "policy", "times", "drop", "record", "cpu_threads",
          "cpu_layout"}


def table():
    """Returns {public name: row} of the settings that a process may change."""
    rows = json.loads(subprocess.run([os.environ["PRINT_SETTINGS"]], stdout=subprocess.PIPE, check=True).stdout)
    return {row["public_name"]: row for row in rows["settings"] if row["owner"] != "device"}


def defaults_in_stubs():
    for node in ast.walk(ast.parse((PACKAGE / "_core.pyi").read_text(encoding="utf-8"))):
        if isinstance(node, ast.ClassDef) and node.name == "Session":
            init = next(of for of in node.body if isinstance(of, ast.FunctionDef) and of.name == "__init__")
            return {argument.arg: ast.literal_eval(value)
                    for argument, value in zip(init.args.kwonlyargs, init.args.kw_defaults)}
    return {}


class Settings(unittest.TestCase):
    def check(self, defaults):
        self.assertEqual(set(defaults), OF_THE_SCHEDULER | OTHERS)
        rows = table()
        for name in OF_THE_SCHEDULER:
            self.assertEqual(defaults[name], rows[name]["usual"], name)

    def test_of_a_session(self):
        parameters = inspect.signature(overtake.Session).parameters
        self.check({name: of.default for name, of in parameters.items() if of.kind is of.KEYWORD_ONLY})

    def test_of_the_stubs(self):
        self.check(defaults_in_stubs())

    def test_of_the_module(self):
        text = overtake._core.Session.__init__.__doc__
        for name in OF_THE_SCHEDULER:
            self.assertRegex(text, rf"\b{name}: [^,]* = {table()[name]['usual']}[,)]")


if __name__ == "__main__":
    unittest.main()
