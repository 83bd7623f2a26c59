# SPDX-License-Identifier: MIT
"""The report in its three forms, and overtake calibrate."""

import html.parser
import json
import pathlib
import tempfile
import unittest

from overtake_command import SLOW, SOURCE, fc_times, info, overtake, succeed

GLYPHS = SOURCE / "models/glyphs"


class Page(html.parser.HTMLParser):
    """Every element is closed, and what is open is known."""

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
        self.assertEqual(json.loads((self.folder / "a.json").read_text()), info(self.model))
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
            self.assertAlmostEqual(sum(shares), node["us"])

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

    def test_calibrate_writes_a_profile_that_compile_takes(self):
        profile = self.folder / "here.yaml"
        printed = succeed("calibrate", "-o", profile, "--name", "here", "--runs", 2)
        self.assertRegex(printed, r"\d+ instructions measured.* median [\d.]+ %, p95 [\d.]+ %")
        self.compile("--profile", profile)
        numbers = info(self.model)["profile"]
        self.assertEqual(numbers["name"], "here")
        self.assertGreater(numbers["fc_overhead_cycles"], 0)
        checked = succeed("calibrate", self.model, "--runs", 2)
        self.assertRegex(checked, r"1 FCs, .* ms modelled, .* ms measured; .* median")

    def test_calibrate_wants_something_to_do(self):
        self.assertEqual(overtake("calibrate").returncode, 1)


if __name__ == "__main__":
    unittest.main()
