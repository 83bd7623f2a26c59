# SPDX-License-Identifier: MIT
"""Bad scenarios are refused: exit 1, an empty stdout, no timeline, and on stderr exactly one line, which names the
file, the place in it and the fault.

bad/cases.json has a case a line, in a list for each base. A case is the scenario bad/BASE.json with one
fault: "set" gives values to places, written as messages write them; "remove" removes a place; "replace"
changes the base's text, once. Cases of the base "none" have the whole text in "file".
"""
import copy
import json
import os
import re
import subprocess
import tempfile
import unittest

DIRECTORY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bad")
OVERTAKE = os.environ["OVERTAKE"]


def text_of(name):
    with open(os.path.join(DIRECTORY, name + ".json"), encoding="utf-8") as file:
        return file.read()


def cases():
    """Returns (base, case) of each line of the table."""
    return [(base, case) for base, listed in json.loads(text_of("cases")).items() for case in listed]


def parent_and_key(document, place):
    """Returns the object or list that contains the place, such as jobs[1].at, and the place's key or index in it."""
    steps = [int(index) if index else key for key, index in re.findall(r"([^.\[\]]+)|\[(\d+)\]", place)]
    for step in steps[:-1]:
        document = document[step]
    return document, steps[-1]


def patched(base, case):
    """Returns the text of the case's scenario."""
    if base == "none":
        return case["file"]
    if "replace" in case:
        return text_of(base).replace(*case["replace"], 1)
    document = json.loads(text_of(base))
    for place, value in copy.deepcopy(case.get("set", {})).items():
        parent, key = parent_and_key(document, place)
        if isinstance(parent, list) and key == len(parent):
            parent.append(value)
        else:
            parent[key] = value
    if "remove" in case:
        parent, key = parent_and_key(document, case["remove"])
        del parent[key]
    return json.dumps(document)


class BadScenarios(unittest.TestCase):
    def simulate(self, name, text):
        """Returns the scenario's path, the command's result, and whether it wrote a timeline."""
        with tempfile.TemporaryDirectory() as directory:
            path, timeline = os.path.join(directory, name + ".json"), os.path.join(directory, "timeline.json")
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            run = subprocess.run([OVERTAKE, "sim", path, "-o", timeline], capture_output=True, text=True,
                                 timeout=60, check=False)
            return path, run, os.path.exists(timeline)

    def test_every_one_is_refused_at_its_place(self):
        for base, case in cases():
            with self.subTest(case["name"]):
                path, run, written = self.simulate(case["name"], patched(base, case))
                self.assertFalse(written, "a timeline is written")
                self.assertEqual(run.returncode, 1, run.stderr)
                self.assertEqual(run.stdout, "")
                message = re.escape(f"overtake: {path}: {case['message']}")
                if case["message"].endswith(": unknown key"):
                    message += r"(, kind .+)?; possible here: [A-Za-z_]+(, [A-Za-z_0-9]+)*"
                self.assertRegex(run.stderr, rf"\A{message}\n\Z")

    def test_without_its_fault_every_base_is_accepted(self):
        for base in {base for base, _ in cases()} - {"none"}:
            with self.subTest(base):
                _, run, written = self.simulate(base, text_of(base))
                self.assertEqual((run.returncode, run.stderr, written), (0, "", True))

    def test_every_case_is_another_one(self):
        names = [case["name"] for _, case in cases()]
        texts = [patched(base, case) for base, case in cases()]
        self.assertGreater(len(names), 200)
        self.assertEqual(sorted(set(names)), sorted(names))
        self.assertEqual(sorted(set(texts)), sorted(texts))


if __name__ == "__main__":
    unittest.main()
