# SPDX-License-Identifier: MIT
"""--json of the commands that make and run models."""

import json
import unittest

import numpy as np

from overtake_command import SOURCE, CommandTest, overtake

GLYPHS = SOURCE / "models/glyphs"


def without_layouts(summary):
    """Leaves out layouts of values on the CPU: they depend on the machine, so only info has
    them."""
    for segment in summary["segments"]:
        segment.pop("layouts", None)
        for op in segment.get("ops", []):
            op.pop("layout", None)
    return summary


class Json(CommandTest):
    def compile(self, *options):
        return self.succeed_json(
            "compile", GLYPHS / "glyphs.onnx", "--calibration", GLYPHS / "calibration.npy",
            "-o", self.directory / "glyphs.ovm", *options,
        )  # fmt: skip

    def test_compile_says_what_info_says_of_the_file(self):
        made = self.compile()
        self.assertEqual(made.pop("output"), str(self.directory / "glyphs.ovm"))
        self.assertEqual(made.pop("warnings"), [])
        told = self.succeed_json("info", self.directory / "glyphs.ovm")
        self.assertEqual(made, without_layouts(told))
        total = made["total"]
        on = [node["processor"] for node in made["nodes"]]
        self.assertEqual(total["nodes_on_bpu"], on.count("BPU"))
        self.assertEqual(total["nodes_on_cpu"], on.count("CPU"))
        self.assertGreater(on.count("BPU"), 0)
        cosines = [node["cosine"] for node in made["nodes"] if node["cosine"] is not None]
        self.assertEqual(total["least_cosine"], min(cosines))
        self.assertGreater(total["fc_count"], 0)
        self.assertEqual(self.compile("-q")["total"], total)  # -q does not suppress --json

    def test_compile_has_warnings_in_it(self):
        made = self.succeed_json("compile", GLYPHS / "glyphs.onnx", "-o", self.directory / "noise.ovm")
        self.assertEqual(len(made["warnings"]), 1)

    def test_names_of_strangers_neither_reorder_a_line_nor_move_a_cursor(self):
        model = self.make_model()
        name = "a\u202eb\x1b["
        model.write_bytes(model.read_bytes().replace(b"softmax", name.encode()))
        text = self.succeed("info", model)
        self.assertIn("output   a?b?[  1x2", text)
        self.assertNotIn("\u202e", text)
        self.assertNotIn("\x1b", text)
        text = self.succeed("info", "--json", model)
        self.assertIn(name, [output["name"] for output in json.loads(text)["outputs"]])
        self.assertNotIn("\u202e", text)
        refusal = overtake("info", self.directory / "no\u202esuch.ovm")
        self.assertIn(r"no\u{202e}such.ovm", refusal.stderr)

    def test_run(self):
        self.compile()
        samples = self.directory / "x.npy"
        np.save(samples, np.load(GLYPHS / "heldout_images.npy")[:3].astype(np.float32))
        for model, arithmetic, backend in [
            (self.directory / "glyphs.ovm", "int8", "embedded"),
            (GLYPHS / "glyphs.onnx", "float32", None),
        ]:
            output = self.directory / arithmetic
            result = self.succeed_json("run", model, "--input", f"image={samples}",
                                       "--output-dir", output, "--device", "embedded")  # fmt: skip
            self.assertEqual(
                (result["model"], result["arithmetic"], result["backend"], result["samples"]),
                (str(model), arithmetic, backend, 3),
            )
            self.assertGreater(result["ms_per_sample"], 0)
            self.assertGreater(result["peak_memory_bytes"], 1 << 20)
            (only,) = result["outputs"]
            self.assertEqual(only["name"], "probabilities")
            self.assertEqual(only["file"], str(output / "probabilities.npy"))
            self.assertEqual(only["shape"], list(np.load(only["file"]).shape))
        self.succeed("compare", self.directory / "int8", self.directory / "float32", "--cosine", 0.9)

    def test_calibrate_checks_models(self):
        self.compile()
        result = self.succeed_json("calibrate", self.directory / "glyphs.ovm", "--runs", 1)
        self.assertIsNone(result["profile"])
        (model,) = result["models"]
        self.assertEqual(model["model"], str(self.directory / "glyphs.ovm"))
        self.assertGreater(model["fcs"], 0)
        self.assertGreater(model["measured_ms"], 0)


if __name__ == "__main__":
    unittest.main()
