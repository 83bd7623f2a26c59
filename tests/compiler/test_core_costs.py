# SPDX-License-Identifier: MIT
"""Learned costs from end to end: calibrate --partition, compile --costs, and what both refuse."""

import json
import os
import pathlib
import tempfile
import unittest

from overtake_command import SOURCE, info, overtake, succeed

MODELS = pathlib.Path(os.environ.get("OVERTAKE_MODELS", SOURCE / "build/release/models"))
GLYPHS = SOURCE / "models/glyphs"
NETWORKS = ("mobilenetv2", "vit")
if "OVERTAKE_ALL_PLANS" in os.environ:
    NETWORKS += ("resnet18", "yolo", "unet")


class CoreCosts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.directory = pathlib.Path(cls.folder.name)
        cls.costs = cls.directory / "costs.json"
        cls.learned = json.loads(
            succeed("calibrate", "--partition", "--of-profile", "default", "--pieces", 20000, "--no-trees", "--json",
                    "-o", cls.costs)
        )  # fmt: skip

    def plan_us(self, network, *options):
        model = self.directory / "plan.ovm"
        succeed("compile", MODELS / f"{network}.onnx", "--calibration", MODELS / f"{network}_calibration.npy", "-q",
                "--cores", 4, "-o", model, *options)  # fmt: skip
        return info(model)["core_plan"]["us"]

    def refused(self, *options):
        result = overtake("compile", GLYPHS / "glyphs.onnx", "-o", self.directory / "x.ovm", *options)
        self.assertNotEqual(result.returncode, 0, options)
        self.assertFalse((self.directory / "x.ovm").exists())
        return result.stderr

    def test_the_cycle_model_is_learned_within_a_percent(self):
        self.assertGreaterEqual(self.learned["pieces"], 20000)
        kinds = [kind for kind in self.learned["left_out"] if kind["layers"] > 1]
        pieces = sum(kind["pieces"] for kind in kinds)
        error = sum(kind["pieces"] * kind["error_formula"] for kind in kinds) / pieces
        self.assertLessEqual(error, 0.01)

    def test_plans_are_within_a_percent_of_those_by_the_model(self):
        for network in NETWORKS:
            with self.subTest(network=network):
                exact, learned = self.plan_us(network), self.plan_us(network, "--costs", self.costs)
                print(f"{network}: {exact:.1f} us by the model, {learned:.1f} us by learned costs")
                self.assertLessEqual(learned, 1.01 * exact)

    def test_this_host_is_measured(self):
        path = self.directory / "host.json"
        printed = succeed("calibrate", "--partition", "--pieces", 400, "--runs", 1, "--no-trees", "-o", path)
        self.assertRegex(printed, r"400 pieces of \d+ layers, \d+ meetings\n")
        self.assertRegex(printed, r"  CONV +\d+ +\d+ +[\d.]+ %\n")
        model = self.directory / "host.ovm"
        succeed("compile", MODELS / "mobilenetv2.onnx", "--calibration", MODELS / "mobilenetv2_calibration.npy", "-q",
                "--cores", 2, "--costs", path, "-o", model)  # fmt: skip

    def test_what_is_no_file_of_costs_is_refused(self):
        broken = self.directory / "broken.json"
        broken.write_text(self.costs.read_text().replace('"fc_ns"', '"fc_us"'))
        pipe = self.directory / "pipe"
        os.mkfifo(pipe)
        self.addCleanup(pipe.unlink)
        for options, reason in (
            (("--costs", self.costs), "for several cores; say with --cores how many"),
            (("--cores", "2", "--costs", "absent.json"), "--costs absent.json: is no file that can be read"),
            (("--cores", "2", "--costs", ""), "--costs: is empty"),
            (("--cores", "2", "--costs", pipe), "pipe: is not a regular file; write the file with overtake calibrate"),
            (("--cores", "2", "--costs", "/dev/zero"), "--costs /dev/zero: is not a regular file"),
            (("--cores", "2", "--costs", broken), "fc_us: is no key of such a file; write the file with overtake "
             "calibrate --partition"),
            (("--cores", "2", "--core-profiles", "default,ideal", "--costs", self.costs), "are of cores that are alike"),
        ):  # fmt: skip
            with self.subTest(options=options):
                self.assertIn(reason, self.refused(*options))

    def test_warnings_say_by_which_numbers(self):
        """In the first case only the costs call the plan fast; in the second only they call one
        core fast."""
        document = json.loads(self.costs.read_text())
        path = self.directory / "strange.json"
        for fc_ns, warning in (
            (0, " has chosen a plan for 2 cores that takes "),
            (1e12, ": no plan for 2 cores takes 2 % less than one core by the costs of "),
        ):
            with self.subTest(fc_ns=fc_ns):
                path.write_text(json.dumps({**document, "fc_ns": fc_ns}))
                model = self.directory / "strange.ovm"
                result = overtake("compile", GLYPHS / "glyphs.onnx", "--cores", 2, "--costs", path, "-o", model)
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertIn(warning, result.stderr)

    def test_calibrate_refuses_what_makes_no_sense(self):
        for options, reason in (
            (("--partition",), "-o FILE.json, for the costs, is required"),
            (("--partition", "-o", "absent/x.json", "--pieces", "10"), "--pieces: '10' is not a whole number in 100..1000000"),
            (("--partition", "-o", self.directory / "x.json", "--of-profile", "absent"), "--of-profile absent: is neither the name of"),
            (("--pieces", "1000", "-o", "absent/x.yaml"), "--partition"),
        ):  # fmt: skip
            with self.subTest(options=options):
                result = overtake("calibrate", *options)
                self.assertNotEqual(result.returncode, 0)
                self.assertIn(reason, result.stderr)


if __name__ == "__main__":
    unittest.main()
