# SPDX-License-Identifier: MIT
"""What the documentation shows is true: its scenarios run, the commands in it print
what stands below them, and the bundled scenarios are what `sim --list` calls them.

A block that begins with "```json" is a whole scenario, one that begins with "```yaml" a file whose name
is in its first line. A block whose first line begins with "$ " is a
session: each command (continued by lines that begin with "> ") is run and must print the lines that
follow it, where a line "[...]" stands for any number of lines.
"""

import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import tempfile
import unittest

from pages import blocks, matches, sessions

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BINARY = os.environ.get("OVERTAKE", str(SOURCE / "build/bin/overtake"))
SCENARIOS = SOURCE / "scenarios"
PAGES = [SOURCE / f"docs/{name}.md" for name in ("reference/scenarios", "start/what-if", "reference/configuration", "use/zoo")]
# The scenarios of these pages have another summary.
PROCESSORS = [SOURCE / f"docs/{folder}/processors.md" for folder in ("use", "reference")]
# This page compiles networks that the build generates.
CORES = SOURCE / "docs/use/cores.md"
NETWORKS = pathlib.Path(os.environ.get("OVERTAKE_MODELS", SOURCE / "build/release/models"))
MAN_PAGE = SOURCE / "docs/man/overtake-sim.1"

class Docs(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)
        for path in SCENARIOS.glob("*.json"):
            (self.directory / path.name).write_bytes(path.read_bytes())
        for path in (SOURCE / "examples").glob("*.json"):
            (self.directory / path.name).write_bytes(path.read_bytes())
        shutil.copytree(SOURCE / "models/glyphs", self.directory / "glyphs")
        for path in [*NETWORKS.glob("*.onnx"), *NETWORKS.glob("*_calibration.npy")]:
            (self.directory / path.name).symlink_to(path)
        for page in [*PAGES, *PROCESSORS]:
            for _, language, lines in blocks(page):
                if language == "yaml":
                    name = lines[0].removeprefix("# ")
                    (self.directory / name).write_text("\n".join(lines))

    def overtake(self, *arguments):
        return subprocess.run(
            [BINARY, *map(str, arguments)],
            cwd=self.directory, capture_output=True, text=True, check=False,
        )

    def succeed(self, *arguments):
        result = self.overtake(*arguments)
        self.assertEqual(result.returncode, 0, f"{arguments}: {result.stderr}")
        self.assertEqual(result.stderr, "")
        return result.stdout

    def assert_runs(self, scenario):
        """Checks both outputs of a scenario: each has all tasks that arrived."""
        tasks = sum(
            of["tasks"] - of["dropped"]
            for of in json.loads(self.succeed("sim", scenario, "--json"))["classes"]
        )
        self.assertGreater(tasks, 0)
        self.assertIn("\nwhere the time went", self.succeed("sim", scenario, "--summary"))
        timeline = json.loads(self.succeed("sim", scenario))
        self.assertEqual(len(timeline.get("tasks", timeline["jobs"])), tasks)

    def test_scenarios_in_the_pages_run(self):
        count = 0
        for page in PAGES:
            for number, language, lines in blocks(page):
                if language != "json":
                    continue
                count += 1
                with self.subTest(page=page.name, line=number):
                    path = self.directory / "example.json"
                    path.write_text("\n".join(lines))
                    self.assert_runs(path)
        self.assertGreaterEqual(count, 3)

    def test_a_class_that_no_file_has_is_refused(self):
        self.succeed("compile", "glyphs/glyphs.onnx", "--calibration", "glyphs/calibration.npy", "-o", "glyphs.ovm")
        scenario = {"version": 1, "kind": "task", "processors": [{"name": "npu", "class": "npu", "cores": 1},
                                                                 {"name": "cpu", "class": "cpu", "workers": 1}],
                    "models": {"M": {"file": "glyphs.ovm"}}, "tasks": [{"id": "a", "at": 0, "model": "M"}]}  # fmt: skip
        path = self.directory / "scenario.json"
        path.write_text(json.dumps(scenario))
        self.succeed("sim", path)
        scenario["processors"].append({"name": "gpu", "class": "gpu", "cores": 1})
        path.write_text(json.dumps(scenario))
        refused = self.overtake("sim", path)
        self.assertEqual(refused.returncode, 1)
        self.assertIn('models: no model runs on class "gpu"; the files were compiled for npu, cpu: name the class as '
                      "one of these, or compile a network with --class gpu=PROFILE", refused.stderr)  # fmt: skip
        scenario["models"]["N"] = {"units": [{"time": {"gpu": 5}}]}
        path.write_text(json.dumps(scenario))
        self.succeed("sim", path)

    def test_what_did_not_end_is_said(self):
        scenario = {"version": 1, "kind": "task", "processors": [{"name": "npu", "class": "npu", "cores": 1}],
                    "models": {"M": {"units": [{"time": {"npu": 5}}]}},
                    "tasks": [{"id": "a", "at": 9, "model": "M"}],
                    "events": [{"at": 1, "processor": "npu", "event": "fail"}]}  # fmt: skip
        path = self.directory / "scenario.json"
        path.write_text(json.dumps(scenario))
        self.assertRegex(self.succeed("sim", path, "--summary"),
                         r"\nclass +tasks +done dropped unended +retries .*\ntasks +1 +0 +0 +1 +0 +0\.0 +- +- +- +-\n")
        [row] = json.loads(self.succeed("sim", path, "--summary", "--json"))["classes"]
        self.assertEqual((row["tasks"], row["unended"], row["latency_us"]["p99"]), (1, 1, None))

    def test_sessions_in_the_pages_print_what_stands_there(self):
        count = 0
        for page in [*PAGES, *PROCESSORS, CORES]:
            for number, _, lines in blocks(page):
                if not lines or not lines[0].startswith("$ "):
                    continue
                for command, shown in sessions(lines):
                    count += 1
                    with self.subTest(page=page.name, line=number, command=command):
                        result = self.run_session(command)
                        if not matches(shown, result):
                            self.assertEqual("\n".join(shown), result.rstrip())
        self.assertGreaterEqual(count, 10)

    def run_session(self, command):
        """Runs a command line as a reader types it, pipes included, with overtake on the PATH."""
        environment = dict(os.environ)
        environment["PATH"] = f"{pathlib.Path(BINARY).parent}:{environment['PATH']}"
        result = subprocess.run(
            ["bash", "-c", command],
            cwd=self.directory, env=environment, text=True, check=False,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )
        # The compiler names the time of a calibration that took a second or more.
        return re.sub(r"(, calibrated with \d+ samples?) in \d+\.\d s", r"\1", result.stdout)

    def test_man_page_has_every_option(self):
        options = set(re.findall(r"--[a-z][-a-z]*", self.succeed("sim", "--help")))
        documented = set(re.findall(r"--[a-z][-a-z]*", MAN_PAGE.read_text().replace("\\-", "-")))
        self.assertGreaterEqual(len(options), 15)
        self.assertEqual(options - {"--help"}, documented)

    def test_examples_of_the_man_page_run(self):
        text = MAN_PAGE.read_text().replace("\\e\n", "").replace("\\-", "-")
        commands = re.findall(r"^    overtake (sim .*)$", text, re.MULTILINE)
        self.assertGreaterEqual(len(commands), 7)
        for command in commands:
            if "net.json" in command:  # this is the reader's own model
                continue
            with self.subTest(command=command):
                self.succeed(*shlex.split(command))

    def test_bundled_scenarios_run_and_bear_their_names(self):
        listed = self.succeed("sim", "--list").splitlines()
        names = sorted(path.stem for path in SCENARIOS.glob("*.json"))
        self.assertEqual([line.split()[0] for line in listed], names)
        for name in names:
            with self.subTest(scenario=name):
                document = json.loads((SCENARIOS / f"{name}.json").read_text())
                self.assertEqual(document["name"], name)
                self.assertIn(len(document["description"]), range(20, 101))
                self.assert_runs(name)

    def test_bundled_benchmarks_meet_some_slos_and_miss_others(self):
        for path in SCENARIOS.glob("*.json"):
            if path.stem.startswith("demo-"):
                continue
            with self.subTest(scenario=path.stem):
                summary = json.loads(self.succeed("sim", path.stem, "--json"))
                shares = [of["slo_met"] for of in summary["classes"] if of["slo_met"] is not None]
                self.assertGreater(max(shares), 0)
                self.assertLess(min(shares), 1)
                self.assertGreater(max(core["utilisation"] for core in summary["cores"]), 0.5)

    def test_help_begins_with_an_example_of_the_manual_page(self):
        for page in sorted((SOURCE / "docs/man").glob("overtake-*.1")):
            command = page.stem.removeprefix("overtake-")
            with self.subTest(command=command):
                help_lines = self.succeed(command, "--help").splitlines()
                (example,) = [line.removeprefix("Example: ") for line in help_lines if line.startswith("Example: ")]
                self.assertLess(help_lines.index(f"Example: {example}"), 3)
                lines = [line.strip() for line in page.read_text().replace("\\-", "-").splitlines()]
                self.assertIn(example, lines)
                options = set(re.findall(r"(?<= )--?[a-z][a-z0-9-]*", example))
                known = set(re.findall(r"(?<![\w-])--?[a-z][a-z0-9-]*", "\n".join(help_lines[3:])))
                self.assertEqual(options - known, set())

    def test_an_empty_command_line_shows_groups_of_subcommands(self):
        shown = self.succeed()
        self.assertEqual(shown, self.succeed("--help"))
        first = re.findall(r"^  ([a-z-]+) ", shown.split("Begin with:\n")[1].split("\n\n")[0], re.MULTILINE)
        self.assertEqual(first, ["sim", "compile", "run", "perf", "top"])
        groups = re.findall(r"^([A-Z][a-z ]+):$", shown, re.MULTILINE)
        self.assertEqual(groups[groups.index("Begin with") + 1:], ["Models", "Devices", "Watch a device", "Ask what if", "Measure this machine"])
        listed = set(re.findall(r"^  ([a-z-]+) ", shown.split("Begin with:\n")[1], re.MULTILINE))
        self.assertEqual(listed, {page.stem.removeprefix("overtake-") for page in (SOURCE / "docs/man").glob("overtake-*.1")})

    def test_manual_pages_have_each_option(self):
        for page in sorted((SOURCE / "docs/man").glob("overtake-*.1")):
            command = page.stem.removeprefix("overtake-")
            known = set(re.findall(r"(?<![\w-])--[a-z][a-z0-9-]+", self.succeed(command, "--help"))) - {"--help"}
            text = page.read_text().replace("\\-", "-")
            self.assertTrue(known, command)
            self.assertEqual({option for option in known if not re.search(option + r"(?![\w-])", text)}, set(), command)


if __name__ == "__main__":
    unittest.main()
