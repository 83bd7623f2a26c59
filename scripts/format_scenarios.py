#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Writes the tests' scenarios and timelines with one record a line.

  scripts/format_scenarios.py [FILE...]     without FILE: those of tests/scenarios

Each key of the file begins a line. If its value is a list or an object that contains lists or objects, each
entry has a line of its own. The content of a file stays the same. tests/structure/test_scenario_files.py
checks this form.
"""

import json
import pathlib
import sys

SCENARIOS = pathlib.Path(__file__).resolve().parents[1] / "tests/scenarios"
FOLDERS = [SCENARIOS / name for name in ("data", "bad", "processors", "processors-corners")]


def files():
    return sorted(path for folder in FOLDERS for path in folder.glob("*.json"))


def members(pairs):
    """Returns an object; refuses a key that occurs twice, since one would be lost."""
    keys = [key for key, _ in pairs]
    if len(keys) != len(set(keys)):
        raise ValueError(f"a key is given twice in {keys}")
    return dict(pairs)


def value(content):
    inner = content.values() if isinstance(content, dict) else content
    if not isinstance(content, (dict, list)) or not any(isinstance(each, (dict, list)) for each in inner):
        return json.dumps(content)
    if isinstance(content, list):
        return "[\n" + ",\n".join("  " + json.dumps(each) for each in content) + "\n ]"
    return "{\n" + ",\n".join(f"  {json.dumps(key)}: {json.dumps(each)}" for key, each in content.items()) + "\n }"


def formatted(text):
    content = json.loads(text, object_pairs_hook=members)
    lines = ",\n".join(f" {json.dumps(key)}: {value(each)}" for key, each in content.items())
    return "{\n" + lines + "\n}\n"


def main():
    for path in [pathlib.Path(name) for name in sys.argv[1:]] or files():
        before = path.read_text()
        after = formatted(before)
        if after != before:
            path.write_text(after)
            print(path)


if __name__ == "__main__":
    main()
