# SPDX-License-Identifier: MIT
"""The generated networks at their full size under real limits: no FC is longer than
max_time_per_fc, all but the last of a segment fill nine tenths of it, and not one bit of the outputs
changes.

Microseconds to split at: OVERTAKE_SPLIT_LIMITS (1000); make soak takes 1000, 2000 and 5000."""

import os
import pathlib
import sys
import tempfile
import unittest

import numpy as np

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(SOURCE / "tests/compiler"), str(SOURCE / "models")]

from overtake_command import info, overtake, run
from synthetic_images import synthetic_images

MODELS = pathlib.Path(os.environ.get("OVERTAKE_MODELS", SOURCE / "build/release/models"))
LIMITS = [int(us) for us in os.environ.get("OVERTAKE_SPLIT_LIMITS", "1000").split(",")]
HAS_AVX2 = "avx2" in pathlib.Path("/proc/cpuinfo").read_text("ascii", "replace").split()
MOST_ADDED = 1.02  # modelled time of the split network against the whole one


def segments_of(model):
    """Modelled microseconds of every FC, a list for each BPU segment."""
    segments = info(model)["segments"]
    return [[fc["us"] for fc in s["fcs"]] for s in segments if s["processor"] == "BPU"]


class SplitLimits(unittest.TestCase):
    def compile(self, name, folder, *options):
        path = folder / "model.ovm"
        calibration = MODELS / f"{name}_calibration.npy"
        result = overtake("compile", MODELS / f"{name}.onnx", "--calibration", calibration, "-o",
                          path, "-q", *options)  # fmt: skip
        self.assertEqual(result.returncode, 0, result.stderr)
        if HAS_AVX2 and os.environ.get("OVERTAKE_SIMD") != "off":
            self.assertNotIn("takes this host", result.stderr)  # about FCs that take it too long
        return path

    def check(self, name):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            shape = np.load(MODELS / f"{name}_calibration.npy", mmap_mode="r").shape
            image = {"image": synthetic_images(1, *shape[2:], np.random.default_rng(7))}
            whole = self.compile(name, folder)
            wanted = run(whole, image, folder / "whole")
            whole_us = [sum(times) for times in segments_of(whole)]
            for times in segments_of(whole):
                self.assertEqual(len(times), 1)
            for limit in LIMITS:
                with self.subTest(network=name, limit=limit):
                    split = self.compile(name, folder, "--max-time-per-fc", limit)
                    parts = segments_of(split)
                    self.assertEqual(len(parts), len(whole_us))
                    times = sum(parts, [])
                    full = sum((part[:-1] for part in parts), [])
                    print(f"{name} at {limit} us: {len(times)} FCs, {sum(times):.1f} us, "
                          f"longest {max(times):.1f}, least but the last "
                          f"{min(full, default=0):.1f}")  # fmt: skip
                    for part, us in zip(parts, whole_us):
                        self.assertGreaterEqual(len(part), us / limit)
                    self.assertLessEqual(max(times), limit)
                    for us in full:
                        self.assertGreaterEqual(us, 0.9 * limit)
                    self.assertLessEqual(sum(times), MOST_ADDED * sum(whole_us))
                    got = run(split, image, folder / f"split{limit}")
                    self.assertEqual(got.keys(), wanted.keys())
                    for output, values in wanted.items():
                        np.testing.assert_array_equal(got[output], values, err_msg=output)

    def test_resnet18(self):
        self.check("resnet18")

    def test_mobilenetv2(self):
        self.check("mobilenetv2")

    def test_yolo(self):
        self.check("yolo")

    def test_unet(self):
        self.check("unet")

    def test_vit(self):
        self.check("vit")


if __name__ == "__main__":
    unittest.main()
