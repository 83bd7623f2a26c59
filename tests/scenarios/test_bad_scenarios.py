# SPDX-License-Identifier: MIT
"""Bad scenarios are refused: exit 1, nothing on stdout, no timeline, and on stderr exactly one line
that begins with the place (bad/places.txt: the scenario's name, then the place)."""
import os
import subprocess
import tempfile
import unittest

DIRECTORY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bad")
OVERTAKE = os.environ["OVERTAKE"]


def places():
    with open(os.path.join(DIRECTORY, "places.txt"), encoding="utf-8") as lines:
        return dict(line.rstrip("\n").split(" ", 1) for line in lines)


class BadScenarios(unittest.TestCase):
    def refuse(self, path, place):
        with tempfile.TemporaryDirectory() as directory:
            timeline = os.path.join(directory, "timeline.json")
            run = subprocess.run([OVERTAKE, "sim", path, "-o", timeline], capture_output=True,
                                 text=True, timeout=60, check=False)
            self.assertFalse(os.path.exists(timeline), "a timeline is written")
        self.assertEqual(run.returncode, 1, run.stderr)
        self.assertEqual(run.stdout, "")
        self.assertEqual(len(run.stderr.splitlines()), 1, run.stderr)
        line = run.stderr.split(os.path.basename(path) + ": ", 1)[-1]
        self.assertTrue(line.startswith((place + ": ", place + "; ")), f"{run.stderr!r} does not name {place}")

    def test_every_one_is_refused_at_its_place(self):
        for name, place in places().items():
            with self.subTest(name):
                self.refuse(os.path.join(DIRECTORY, name + ".json"), place)

    def test_the_list_of_places_is_complete(self):
        files = {name[:-5] for name in os.listdir(DIRECTORY) if name.endswith(".json")}
        self.assertEqual(files, set(places()))


if __name__ == "__main__":
    unittest.main()
