# SPDX-License-Identifier: MIT
"""The report in its three forms, and overtake calibrate."""

import html.parser
import json
import pathlib
import re
import tempfile
import unittest

import numpy as np

import small_models
from overtake_command import SLOW, SOURCE, fc_times, info, overtake, succeed

GLYPHS = SOURCE / "models/glyphs"


class Page(html.parser.HTMLParser):
    """A parser that checks that every element is closed, and that each open one is known."""

    VOID = {"meta", "rect", "line"}

    def __init__(self, text):
        super().__init__()
        self.open, self.counts, self.text, self.links = [], {}, [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.counts[tag] = self.counts.get(tag, 0) + 1
        self.links += [value for name, value in attributes if name in ("src", "href")]
        if tag not in self.VOID or tag == "rect":
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.counts[tag] = self.counts.get(tag, 0) + 1

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            raise AssertionError(f"</{tag}> closes something else")

    def handle_data(self, data):
        self.text.append(data)


class Report(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.model = self.folder / "glyphs.ovm"

    def compile(self, *options):
        return succeed(
            "compile", GLYPHS / "glyphs.onnx", "--calibration", GLYPHS / "calibration.npy",
            "-o", self.model, "-q", *options,
        )  # fmt: skip

    def test_a_directory_gets_all_forms(self):
        self.compile("--report", self.folder / "deep/report")
        files = {path.name for path in (self.folder / "deep/report").iterdir()}
        self.assertEqual(files, {"glyphs.html", "glyphs.json", "glyphs.txt"})

    def test_a_suffix_chooses_the_form(self):
        self.compile("--report", self.folder / "a.json")
        told = info(self.model)
        for segment in told["segments"]:  # CPU layouts depend on the machine, so only info has them
            segment.pop("layouts", None)
            for op in segment.get("ops", []):
                op.pop("layout", None)
        self.assertEqual(json.loads((self.folder / "a.json").read_text()), told)
        succeed("info", self.model, "--report", self.folder / "a.txt")
        self.assertEqual((self.folder / "a.txt").read_text(), succeed("info", self.model))

    def test_what_is_no_directory_is_refused(self):
        self.compile()
        blocked = self.folder / "glyphs.ovm" / "report"
        result = overtake("info", self.model, "--report", blocked)
        self.assertEqual(result.returncode, 1)
        self.assertIn(str(blocked), result.stderr)

    def test_the_page_is_whole_and_needs_nothing_else(self):
        self.compile("--report", self.folder / "a.html", "--max-time-per-fc", 2000,
                     "--profile", SLOW)  # fmt: skip
        text = (self.folder / "a.html").read_text(encoding="utf-8")
        page = Page(text)
        self.assertEqual(page.open, [])
        self.assertEqual(page.links, [])
        self.assertNotIn("url(", text)
        self.assertNotIn("@import", text)
        self.assertEqual(page.counts["svg"], 3)
        words = " ".join(page.text)
        for node in info(self.model)["nodes"]:
            self.assertIn(node["name"], words)
        for fc, us in enumerate(fc_times(self.model)):
            self.assertRegex(text, rf"FC {fc}[,:] ")

    def test_names_cannot_break_the_page(self):
        data = (GLYPHS / "glyphs.onnx").read_bytes()
        self.compile()
        name = info(self.model)["nodes"][0]["name"].encode()
        hostile = (b'<i>&"' + b"x" * len(name))[: len(name)]
        path = self.folder / "hostile.onnx"
        path.write_bytes(data.replace(name, hostile))
        succeed("compile", path, "-o", self.model, "-q", "--report", self.folder / "a.html")
        text = (self.folder / "a.html").read_text(encoding="utf-8")
        self.assertNotIn("<i>&", text)
        self.assertIn("&lt;i&gt;", text)
        self.assertEqual(Page(text).open, [])

    def test_shares_add_up(self):
        self.compile("--max-time-per-fc", 2000, "--profile", SLOW)
        summary = info(self.model)
        overhead = summary["profile"]["fc_overhead_cycles"] * 1000 / summary["profile"]["clock_khz"]
        fcs = [fc for s in summary["segments"] if s["processor"] == "BPU" for fc in s["fcs"]]
        self.assertGreater(len(fcs), 3)
        for number, fc in enumerate(fcs):
            shares = [s for s in summary["fc_shares"] if s["fc"] == number]
            self.assertAlmostEqual(sum(s["us"] for s in shares) + overhead, fc["us"])
            self.assertEqual(sum(s["insn_count"] for s in shares), fc["insn_count"])
        for number, node in enumerate(summary["nodes"]):
            shares = [s["us"] for s in summary["fc_shares"] if s["node"] == number]
            if node["processor"] == "BPU":
                self.assertAlmostEqual(sum(shares), node["us"])
            else:
                self.assertEqual(shares, [])

    def test_what_lives_at_the_same_time_does_not_overlap(self):
        self.compile()
        summary = info(self.model)
        uses = summary["scratch"]
        self.assertGreater(len(uses), 2)
        for index, left in enumerate(uses):
            self.assertLessEqual(left["offset"] + left["bytes"], summary["total"]["scratch_bytes"])
            for right in uses[:index]:
                apart = (
                    left["last_node"] < right["first_node"]
                    or right["last_node"] < left["first_node"]
                    or left["offset"] + left["bytes"] <= right["offset"]
                    or right["offset"] + right["bytes"] <= left["offset"]
                )
                self.assertTrue(apart, (left, right))

    def small(self, model, *options, on_cpu=()):
        """Returns text and page of a small compiled network."""
        path = small_models.save(model, self.folder / "small.onnx")
        for name in on_cpu:
            options += ("--run-on-cpu", name)
        succeed("compile", path, "-o", self.model, "-q", "--report", self.folder / "all", *options)
        return [(self.folder / f"all/glyphs.{form}").read_text() for form in ("txt", "html")]

    def test_what_was_compared(self):
        nodes = [small_models.node("Conv", ["x", "w"], ["y"])]
        model = small_models.model(
            nodes, {"x": (1, 8, 4, 4)}, {"y": (1, 8, 4, 4)}, {"w": small_models.ones(8, 8, 1, 1)}
        )
        for form in self.small(model):
            self.assertIn("over 4 samples of random noise", form)
        self.assertEqual(info(self.model)["calibration"], {"samples": 4, "noise": True, "compared": 4})
        np.save(self.folder / "x.npy", np.random.default_rng(1).normal(size=(20, 8, 4, 4)))
        for form in self.small(model, "--calibration", self.folder / "x.npy"):
            self.assertIn("over 16 of 20 calibration samples", form)

    def test_work_on_the_cpu_is_work(self):
        shape = (2, 8, 5, 5)
        nodes = [
            small_models.node("Conv", ["x", "w"], ["c"], group=2, pads=[1, 1, 1, 1]),
            small_models.node("ConvTranspose", ["c", "w"], ["t"], group=2, pads=[1, 1, 1, 1]),
            small_models.node("MatMul", ["t", "m"], ["y"]),
        ]
        model = small_models.model(
            nodes, {"x": shape}, {"y": (2, 8, 5, 3)},
            {"w": small_models.ones(8, 4, 3, 3), "m": small_models.ones(5, 3)},
        )  # fmt: skip
        text, page = self.small(model, on_cpu=("my_conv", "my_convtranspose", "my_matmul"))
        convolution, product = 2 * 8 * 25 * 4 * 9, 2 * 8 * 5 * 3 * 5
        summary = info(self.model)
        self.assertEqual([n["macs"] for n in summary["nodes"] if n["macs"]],
                         [convolution, convolution, product])  # fmt: skip
        self.assertEqual(summary["total"]["macs"], 0)
        self.assertEqual(summary["total"]["macs_on_cpu"], 2 * convolution + product)
        self.assertIn("0.0 MMAC in 0 instructions, and 0.0 MMAC on the CPU", text)
        (line,) = [line for line in text.splitlines() if line.startswith("my_convtranspose ")]
        self.assertRegex(line, r"CPU +0.01 +- +~\d+\.\d +1.00000")
        self.assertIn("on the CPU</span></div>", page)

    def test_numbers_under_many_bars_are_round(self):
        profile = self.folder / "slower.yaml"
        slow = SLOW.read_text(encoding="utf-8")
        profile.write_text(slow.replace("clock_khz: 1000", "clock_khz: 800"), encoding="utf-8")
        shape = (1, 64, 28, 28)
        model = small_models.model(
            [small_models.node("Conv", ["x", "w"], ["y"], pads=[1, 1, 1, 1])],
            {"x": shape}, {"y": shape}, {"w": small_models.ones(64, 64, 3, 3)},
        )  # fmt: skip
        _, page = self.small(model, "--profile", profile, "--max-time-per-fc", 2000)
        self.assertGreater(info(self.model)["total"]["fc_count"], 460)
        chart = page[page.index("<svg") : page.index("</svg>")]
        numbers = [
            int(text.replace(",", ""))
            for text in re.findall(r'y="246.0" text-anchor="(?:middle|end)">([\d,]+)</text>', chart)
        ]
        self.assertGreater(len(numbers), 5)
        step = numbers[1]
        self.assertRegex(str(step), "^[125]0*$")
        self.assertEqual(numbers, list(range(0, step * len(numbers), step)))

    def test_time_on_the_cpu_is_an_estimate_by_the_rates_of_the_profile(self):
        nodes = [
            small_models.node("Conv", ["x", "w"], ["c"]),
            small_models.node("Softmax", ["c"], ["s"], axis=3),
            small_models.node("Relu", ["s"], ["y"]),
        ]
        shape = (1, 8, 10, 10)
        model = small_models.model(
            nodes, {"x": shape}, {"y": shape}, {"w": small_models.ones(8, 8, 1, 1)}
        )
        text, page = self.small(model, "--run-on-bpu", "my_relu", on_cpu=("my_conv", "my_softmax"))
        summary = info(self.model)
        elements, macs, weights = 8 * 10 * 10, 8 * 8 * 10 * 10, 8 * 8
        expected = {
            "my_conv": 1 + macs / 4000 + (2 * elements + weights) * 4 / 500,
            "my_softmax": 1 + 2 * elements * 4 / 500,
        }
        on_cpu = {n["name"]: n["us"] for n in summary["nodes"] if n["processor"] == "CPU"}
        self.assertEqual(on_cpu.keys(), expected.keys())
        for name, us in expected.items():
            self.assertAlmostEqual(on_cpu[name], us)
        segment = summary["segments"][0]
        self.assertEqual([op["us"] for op in segment["ops"]], list(on_cpu.values()))
        self.assertAlmostEqual(segment["us"], sum(expected.values()))
        self.assertAlmostEqual(summary["total"]["cpu_us"], sum(expected.values()))
        self.assertIn("1 of 3", page)
        self.assertIn("nodes on the BPU, 2 on the CPU", page)
        self.assertRegex(page, r"Softmax</td><td><span[^>]*>CPU</span></td><td[^>]*>1</td>"
                               r"<td[^>]*>about 13.8 µs")  # fmt: skip
        self.assertIn("4000 multiply-accumulates and 500 bytes per microsecond", page)
        # The engine uses the numbers that the report shows.
        expected_ns = round(sum(expected.values()) * 1000)
        self.assertEqual(segment["expected_ns"], expected_ns)
        self.assertRegex(text, rf"segment 0: CPU, about \d+\.\d us, expected {expected_ns} ns\n")
        on_device = summary["segments"][1]
        cycles = sum(fc["cycles"] for fc in on_device["fcs"])
        self.assertEqual(on_device["expected_ns"],
                         -(-cycles * 10**6 // summary["profile"]["clock_khz"]))  # fmt: skip
        self.assertRegex(text, rf"segment 1: BPU, .* us, expected {on_device['expected_ns']} ns, ")
        whole = self.model.read_bytes()

        profile = self.folder / "cpu.yaml"
        default = SLOW.read_text(encoding="utf-8")
        rates = "cpu_macs_per_us: 4000\ncpu_bytes_per_us: 500\ncpu_operator_ns: {}\n"
        profile.write_text(default + rates.format(1000), encoding="utf-8")
        self.small(model, "--profile", SLOW, "--run-on-bpu", "my_relu", on_cpu=("my_conv", "my_softmax"))
        without = self.model.read_bytes()
        self.small(model, "--profile", profile, "--run-on-bpu", "my_relu", on_cpu=("my_conv", "my_softmax"))
        self.assertEqual(self.model.read_bytes(), without)
        self.assertNotEqual(without, whole)
        profile.write_text(default + rates.format(7000), encoding="utf-8")
        self.small(model, "--profile", profile, "--run-on-bpu", "my_relu", on_cpu=("my_conv", "my_softmax"))
        self.assertAlmostEqual(info(self.model)["total"]["cpu_us"], sum(expected.values()) + 12)

    def test_a_network_without_cpu_speaks_of_none(self):
        text, page = self.small(small_models.relu())
        self.assertIn("<b>1 of 1</b><span>nodes on the BPU</span>", page)
        for form in (text, page):
            self.assertNotIn("on the CPU", form)
            self.assertNotIn("about", form)

    def test_what_is_not_finite_is_not_compared(self):
        nodes = [
            small_models.node("Softmax", ["x"], ["s"], axis=1),
            small_models.node("Neg", ["s"], ["n"]),
            small_models.node("Log", ["n"], ["l"]),
            small_models.node("Concat", ["l", "s"], ["y"], axis=1),
        ]
        shape = (2, 3, 4, 4)
        model = small_models.model(nodes, {"x": shape}, {"y": (2, 6, 4, 4)})
        text, page = self.small(model, on_cpu=("my_softmax", "my_neg", "my_log", "my_concat"))
        self.assertNotIn("nan", text.lower())
        self.assertNotIn("nan", page.lower())
        cosines = {node["name"]: node["cosine"] for node in info(self.model)["nodes"]}
        self.assertIsNone(cosines["my_log"])
        self.assertAlmostEqual(cosines["my_concat"], 1, places=5)
        self.assertRegex(text, r"my_log .* - +-\n")

    def test_calibrate_writes_a_profile_that_compile_takes(self):
        profile = self.folder / "here.yaml"
        printed = succeed("calibrate", "-o", profile, "--name", "here", "--runs", 2)
        measured = re.findall(r"^  ([A-Z_]+): \{fixed_cycles", profile.read_text(), re.M)
        self.assertLessEqual({"CONV", "DEPTHWISE", "MATMUL", "ADD", "MAX_POOL", "AVERAGE_POOL",
                              "TABLE", "TRANSPOSED_CONV", "PERMUTE", "RESIZE_NEAREST", "PAD",
                              "DEPTH_TO_SPACE", "SPACE_TO_DEPTH"},
                             set(measured))
        self.assertRegex(printed, r"\d+ instructions measured.* median [\d.]+ %, p95 [\d.]+ %")
        self.compile("--profile", profile)
        numbers = info(self.model)["profile"]
        self.assertEqual(numbers["name"], "here")
        self.assertGreater(numbers["fc_overhead_cycles"], 0)
        checked = succeed("calibrate", self.model, "--runs", 2)
        self.assertRegex(checked, r"1 FC, .* ms modelled, .* ms measured; .* median")

    def test_calibrate_wants_something_to_do(self):
        self.assertEqual(overtake("calibrate").returncode, 2)


if __name__ == "__main__":
    unittest.main()
