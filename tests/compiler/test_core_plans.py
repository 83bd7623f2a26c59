# SPDX-License-Identifier: MIT
"""Plans for several cores in model files: options, refusals, reports, and that bits and times are right. CORE_PLANS
names the program that runs models on devices with as many cores."""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import numpy as np

from overtake_command import SLOW, SOURCE, info, overtake, succeed

ALL_PLANS = "OVERTAKE_ALL_PLANS" in os.environ  # all plans, or some of them
MODELS = pathlib.Path(os.environ.get("OVERTAKE_MODELS", SOURCE / "build/release/models"))
CORE_PLANS = os.environ.get("CORE_PLANS", str(SOURCE / "build/release/tests/core_plans"))
GLYPHS = SOURCE / "models/glyphs"


class CorePlans(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def compile(self, network, name, *options):
        """Returns the model file."""
        path = self.folder / f"{name}.ovm"
        samples = network.with_name(network.stem + "_calibration.npy")
        if not samples.exists():
            samples = network.with_name("calibration.npy")
        calibration = self.folder / f"{network.stem}_sample.npy"  # plans do not depend on ranges
        np.save(calibration, np.load(samples)[:1])
        result = overtake("compile", network, "--calibration", calibration, "-o", path, "-q", *options)
        self.assertEqual(result.returncode, 0, result.stderr)
        return path

    def glyphs(self, name, *options):
        return self.compile(GLYPHS / "glyphs.onnx", name, *options)

    def large(self, name, *options):
        """Compiles a network for which several cores are worth while."""
        return self.compile(MODELS / "mobilenetv2.onnx", name, *options)

    def generate(self, kind, size, width):
        path = self.folder / f"{kind}.onnx"
        subprocess.run(
            [sys.executable, "-B", SOURCE / "models/generate.py", kind, path, "--input", size,
             "--width", str(width), "--samples", self.folder / f"{kind}_calibration.npy"],
            check=True, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        return path

    def run_all(self, *models):
        result = subprocess.run([CORE_PLANS, *map(str, models)], capture_output=True, text=True, check=False)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        print(result.stdout, end="")

    def refused(self, *options):
        result = overtake("compile", GLYPHS / "glyphs.onnx", "-o", self.folder / "x.ovm", *options)
        self.assertNotEqual(result.returncode, 0, options)
        self.assertFalse((self.folder / "x.ovm").exists())
        return result.stderr

    def test_networks_compute_the_bits_of_one_core_in_the_predicted_time(self):
        networks = [MODELS / f"{name}.onnx" for name in ("resnet18", "mobilenetv2", "vit")]
        networks += [self.generate("yolo", "96x128", 8), self.generate("unet", "64x96", 8)]
        for turn, network in enumerate(networks):
            for cores in (2, 4) if ALL_PLANS else (2 << turn % 2,):
                with self.subTest(network=network.stem, cores=cores):
                    model = self.compile(network, f"{network.stem}-{cores}", "--cores", cores)
                    if "core_plan" not in info(model):  # the network is too small for so many cores
                        self.assertNotIn(network.stem, ("resnet18", "mobilenetv2"))
                        print(f"{network.stem}: no plan for {cores} cores")
                        continue
                    self.run_all(model)

    def test_networks_cut_into_fcs_compute_the_bits_of_one_core(self):
        model = self.large("slow", "--cores", 2, "--profile", SLOW, "--max-time-per-fc", "20ms")
        plan = info(model)["core_plan"]
        self.assertGreater(plan["segments"][0]["fc_count"], 2 * plan["segments"][0]["stages"])
        self.assertLessEqual(plan["segments"][0]["longest_fc_us"], 20_000)

    def test_segments_on_the_cpu_are_between_groups(self):
        model = self.large("between", "--cores", 3, "--run-on-cpu", "block5_add", "--run-on-cpu", "block9_expand")
        summary = info(model)
        self.assertEqual([s["processor"] for s in summary["segments"]], ["BPU", "CPU"] * 2 + ["BPU"])
        self.assertEqual([s["segment"] for s in summary["core_plan"]["segments"]], [0, 2, 4])
        self.run_all(model)

    def test_unlike_cores(self):
        model = self.compile(MODELS / "resnet18.onnx", "unlike", "--cores", 3, "--core-profiles",
                             "default,default,rk3588-core")  # fmt: skip
        plan = info(model)["core_plan"]
        self.assertFalse(plan["are_alike"])
        self.assertEqual([core["profile"] for core in plan["cores"]], ["default", "default", "rk3588-core"])
        self.assertIn("sessions' requests that name no core", succeed("info", model))
        self.run_all(model)

    def test_a_plan_of_one_part_names_its_core(self):
        network = self.generate("yolo", "96x128", 8)
        for profiles in ("default,rk3588-core", "rk3588-core,default"):
            model = self.compile(network, "one-part", "--cores", 2, "--core-profiles", profiles, "--schemes", "single")
            plan = info(model)["core_plan"]
            self.assertEqual([segment["parts"] for segment in plan["segments"]], [1])
            self.assertGreater(plan["speed_up"], 1.3)
            self.run_all(model)

    def test_without_the_option_the_bytes_are_the_same(self):
        plain = self.glyphs("plain").read_bytes()
        self.glyphs("four", "--cores", 4)
        self.assertEqual(self.glyphs("plain").read_bytes(), plain)

    def test_the_same_options_give_the_same_bytes(self):
        first = self.large("first", "--cores", 3).read_bytes()
        self.assertEqual(self.large("first", "--cores", 3).read_bytes(), first)

    def test_units_and_a_plan_are_in_one_file(self):
        model = self.large("both", "--cores", 2, "--class", "npu=default", "--class", "cpu")
        summary = info(model)
        self.assertEqual([of["name"] for of in summary["units"]["classes"]], ["npu", "cpu"])
        self.assertEqual(len(summary["core_plan"]["cores"]), 2)
        self.run_all(model)

    def test_a_plan_that_brings_nothing_is_left_out(self):
        far_apart = self.folder / "far.yaml"
        far_apart.write_text(SLOW.read_text().replace("name: slow", "name: far") + "sync_cycles: 100000000\n")
        options = ("--calibration", GLYPHS / "calibration.npy", "--profile", far_apart)
        plain, two = (self.folder / f"{name}.ovm" for name in ("plain", "two"))
        succeed("compile", GLYPHS / "glyphs.onnx", "-o", plain, *options)
        result = overtake("compile", GLYPHS / "glyphs.onnx", "-o", two, *options, "--cores", 2)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stderr, "no plan for 2 cores takes 2 % less than the [0-9.]+ us of one core; "
                         "requests run on one core")  # fmt: skip
        self.assertEqual(two.read_bytes(), plain.read_bytes())
        strict = overtake("compile", GLYPHS / "glyphs.onnx", "-o", two, *options, "--cores", 2, "--strict")
        self.assertEqual(strict.returncode, 1)

    def test_schemes_are_those_that_are_asked_for(self):
        for schemes in ("row", "channel,grid", "balanced"):
            plan = info(self.large("schemes", "--cores", 2, "--schemes", schemes))["core_plan"]
            used = {layer["scheme"] for layer in plan["layers"]}
            self.assertLessEqual(used, {*schemes.split(","), "single"}, schemes)
            self.assertTrue(used & set(schemes.split(",")), schemes)

    def test_without_overlap_cores_meet_behind_each_layer(self):
        plan = info(self.large("meet", "--cores", 4, "--no-overlap"))["core_plan"]
        self.assertTrue(all(layer["transmits"] for layer in plan["layers"]))
        self.assertEqual(sum(layer["halo_operations"] for layer in plan["layers"]), 0)

    def shares_of(self, *options):
        """Returns the shares by layer of a network in which, unless pixels move, a slow core gets too
        great a share of the first layers."""
        plan = info(self.large("shares", "--cores", 3, "--core-profiles", "default,default,rk3588-core", "--schemes",
                               "balanced", *options))["core_plan"]  # fmt: skip
        return [layer["share"] for layer in plan["layers"]]

    def test_pixels_move_by_the_step_and_until_the_threshold(self):
        usual = self.shares_of()
        unmoved = self.shares_of("--balance-threshold", 100)
        self.assertNotEqual(usual, unmoved)
        for step in (1, 4294967295):
            self.assertNotEqual(self.shares_of("--balance-step", step), usual)
        self.assertEqual(self.shares_of("--balance-threshold", 2), usual)

    def test_shares_are_balanced_by_what_pieces_take_on_this_host(self):
        network = self.generate("yolo", "32x32", 8)
        options = ("--calibration", self.folder / "yolo_calibration.npy", "--cores", 2, "--schemes", "balanced")  # fmt: skip
        model = self.folder / "measured.ovm"
        line = succeed("compile", network, "-o", model, "--balance", "measured", *options)
        self.assertRegex(line, r", balanced by [1-9][0-9]* measured pieces\n")
        told = json.loads(succeed("compile", network, "-o", model, "--balance", "measured", "--json", *options))
        self.assertGreater(told["pieces_measured"], 1)
        self.assertNotIn("measured pieces", succeed("compile", network, "-o", model, "--balance", "model", *options))
        if "core_plan" in info(model):
            self.run_all(model)

    def test_what_is_impossible_is_refused(self):
        for options, reason in (
            (("--cores", "1"), "--cores: '1' is not a whole number in 2..64"),
            (("--cores", "65"), "--cores: '65' is not a whole number in 2..64"),
            (("--cores", "2", "--core-profiles", "default"), "--core-profiles: names 1 for --cores 2; name one for each"),
            (("--cores", "2", "--core-profiles", "default,big"), "--core-profiles big: is neither the name of"),
            (("--cores", "2", "--schemes", "row,diagonal"), "--schemes: 'diagonal' is not row, column, grid, channel, "
             "balanced or single"),
            (("--schemes", "row", "--no-overlap"), "--schemes, --no-overlap: are for several cores; say with --cores how many"),
            (("--cores", "2", "--schemes", "row,grid,row"), "--schemes: names row twice"),
            (("--schemes", "row"), "--schemes: is for several cores; say with --cores how many"),
            (("--no-overlap",), "--no-overlap: is for several cores; say with --cores how many"),
            (("--core-profiles", "default,default"), "--core-profiles: is for several cores; say with --cores how many"),
            (("--balance-step", "9"), "--balance-step: is for several cores; say with --cores how many"),
            (("--balance-threshold", "9"), "--balance-threshold: is for several cores; say with --cores how many"),
            (("--balance", "measured"), "--balance: is for several cores; say with --cores how many"),
            (("--cores", "2", "--balance-step", "0"), "--balance-step: '0' is not a whole number in 1..4294967295"),
            (("--cores", "2", "--balance-threshold", "101"), "--balance-threshold: '101' is not a number in 0..100"),
            (("--cores", "2", "--balance", "best"), "--balance: 'best' is not model or measured"),
            (("--cores", "2", "--schemes", "row", "--balance-step", "9"), "are for the scheme balanced, which "
             "--schemes leaves out"),
            (("--cores", "2", "--core-profiles", "default,ideal", "--balance", "measured"), "--balance measured: is of "
             "this host, whose cores are alike"),
        ):  # fmt: skip
            with self.subTest(options=options):
                self.assertIn(reason, self.refused(*options))

    def test_a_configuration_file_says_how_many(self):
        path = self.folder / "two.yaml"
        path.write_text(
            f"model_parameters:\n  onnx_model: {MODELS / 'mobilenetv2.onnx'}\n  working_dir: out\n"
            "calibration_parameters:\n  calibration_type: skip\ncompiler_parameters:\n  core_num: 2\n")  # fmt: skip
        succeed("compile", "-c", path)
        model = self.folder / "out/mobilenetv2.ovm"
        self.assertEqual(len(info(model)["core_plan"]["cores"]), 2)
        succeed("compile", "-c", path, "--cores", 3)
        self.assertEqual(len(info(model)["core_plan"]["cores"]), 3)

    def test_reports(self):
        model = self.large("report", "--cores", 4)
        summary = info(model)
        plan = summary["core_plan"]
        self.assertEqual(len(plan["cores"]), 4)
        self.assertAlmostEqual(plan["speed_up"], plan["one_core_us"] / plan["us"])
        self.assertGreater(plan["speed_up"], 1.02)
        self.assertAlmostEqual(plan["one_core_us"], summary["total"]["us"], delta=1)
        for layer in plan["layers"]:
            self.assertAlmostEqual(sum(layer["share"]), 1, msg=layer)
            self.assertEqual(len(layer["us"]), 4)
        text = succeed("info", model)
        self.assertIn(f"plan for 4 cores of default: {plan['us']:.1f} us, {plan['speed_up']:.2f} times as fast", text)
        self.assertIn("; engines with several processors use one core", text)
        page = self.folder / "report.html"
        succeed("info", model, "--report", page)
        html = page.read_text()
        self.assertIn("<h2>Several cores</h2>", html)
        picture = re.search(r"<svg[^>]*aria-label=\"One inference on several cores.*?</svg>", html, re.S)
        self.assertTrue(picture)
        for core in range(1, 5):
            self.assertIn(f">core {core}</text>", picture[0])
        self.assertGreater(picture[0].count("<rect"), len(plan["layers"]))

    def test_the_simulator_makes_parts_of_a_plan_unless_a_task_names_a_core(self):
        plan = info(self.large("sim", "--cores", 4))["core_plan"]
        for core, us in ((0, plan["us"]), (2, plan["one_core_us"])):
            scenario = self.folder / "scenario.json"
            scenario.write_text(json.dumps(
                {"version": 1, "kind": "task", "cores": 4, "sync": 1, "models": {"net": {"file": "sim.ovm"}},
                 "tasks": [{"id": "a", "at": 0, "process": "p", "model": "net", "core": core}]}))  # fmt: skip
            (task,) = json.loads(succeed("sim", scenario))["tasks"]
            # In whole microseconds, and so is the sync of half of one.
            stages = plan["segments"][0]["stages"]
            self.assertLess(abs(task["end"] - us), stages if core == 0 else 2)

    def test_perf_and_run_give_an_embedded_device_the_cores(self):
        model = self.large("perf", "--cores", 4)
        plan = info(model)["core_plan"]
        for options, cores, us in (((), 4, plan["us"]), (("--engine",), 4, plan["us"]), (("--cores", 2), 2, plan["one_core_us"]),
                                   (("--core", 3), 4, plan["one_core_us"])):  # fmt: skip
            result = json.loads(succeed("perf", model, "--device", "embedded", "--mode", "timed", "--frames", 3,
                                        "--json", *options))  # fmt: skip
            self.assertEqual(result["device"]["cores"], cores)
            self.assertAlmostEqual(result["models"][0]["device_latency_ms"]["min"] * 1000, us, delta=0.001)

    def test_commands_say_why_requests_do_not_use_a_plan(self):
        network = self.generate("yolo", "96x128", 8)
        alike = self.compile(network, "alike", "--cores", 4)
        mixed = self.compile(network, "mixed", "--cores", 2, "--core-profiles", "default,rk3588-core")
        perf = ("--device", "embedded", "--mode", "timed", "--frames", 1)
        of_four = "requests use one core, not the plan for 4: "
        for command, model, options, reason in (
            ("perf", alike, perf, None),
            ("perf", alike, (*perf, "--engine"), None),
            ("perf", alike, (*perf, "--cores", 3, "--core", 2), None),
            ("perf", mixed, perf, None),
            ("run", alike, ("--device", "embedded", "--input", f"image={self.folder / 'yolo_calibration.npy'}",
             "--output-dir", self.folder / "out"), None),
            ("perf", alike, (*perf, "--cores", 3), of_four + "it needs 4 cores of default, and the device has "
             "3 cores of default; compile the network for the cores of the device, or use a device with those of the plan"),
            ("perf", mixed, (*perf, "--engine"), "requests use one core, not the plan for 2: an engine uses a plan only "
             "where all cores are alike; a session uses it"),
            ("perf", alike, (*perf, "--processors", "npu=1+2,cpu"), of_four + "an engine with several processors does not"),
        ):  # fmt: skip
            with self.subTest(command=command, model=model.stem, options=options):
                result = overtake(command, model, *options)
                self.assertEqual(result.returncode, 0, result.stderr)
                if reason is None:
                    self.assertEqual(result.stderr, "")
                else:
                    self.assertIn(f"overtake: {model}: {reason}", result.stderr)

    def test_the_table_of_the_page_is_what_the_compiler_says(self):
        page = (SOURCE / "docs/use/cores.md").read_text(encoding="utf-8")
        rows = re.findall(r"^\| (\w+) \| ([0-9.]+) \| ([0-9.]+) \| ([0-9.]+) \|$", page, re.M)
        self.assertGreaterEqual(len(rows), 5)
        for network, *speed_ups in rows:
            columns = list(zip((2, 4, 8), speed_ups))
            for cores, speed_up in columns if ALL_PLANS or network == "mobilenetv2" else columns[2:]:
                model = self.compile(MODELS / f"{network}.onnx", "table", "--cores", cores)
                # Plans that are made on Debian 12 and on Debian 13 differ a little.
                self.assertAlmostEqual(info(model)["core_plan"]["speed_up"], float(speed_up), delta=0.02, msg=(network, cores))

    def test_a_pack_keeps_plans(self):
        packed = self.folder / "pack.ovm"
        succeed("pack", self.large("one", "--cores", 2), self.glyphs("two"), "-o", packed)
        plans = [model.get("core_plan") for model in json.loads(succeed("info", packed, "--json"))]
        self.assertEqual([plan is not None for plan in plans], [True, False])
        self.assertEqual(plans[0], info(self.folder / "one.ovm")["core_plan"])


if __name__ == "__main__":
    unittest.main()
