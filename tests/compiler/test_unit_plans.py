# SPDX-License-Identifier: MIT
"""int8 results have the same bits wherever units run: compiled networks by random plans. UNIT_PLANS names the
program that runs them, OVERTAKE_UNIT_PLANS how many plans of each network (5)."""

import os
import pathlib
import subprocess
import tempfile
import unittest

from overtake_command import SOURCE, overtake

MODELS = pathlib.Path(os.environ.get("OVERTAKE_MODELS", SOURCE / "build/release/models"))
UNIT_PLANS = os.environ.get("UNIT_PLANS", str(SOURCE / "build/release/tests/unit_plans"))
COUNT = os.environ.get("OVERTAKE_UNIT_PLANS", "5")
NETWORKS = ["detector", "mobilenetv2", "resnet18", "unet", "yolo"]
# This core lacks half of the operators of most networks.
LACKING = """name: lacking
clock_khz: 500000
macs_per_cycle: 256
vector_per_cycle: 64
bytes_per_cycle: 32
insn_overhead_cycles: 200
fc_overhead_cycles: 1000
without: [ADD, MAX_POOL, AVERAGE_POOL, DEPTHWISE, RESIZE_NEAREST, TABLE]
"""


class UnitPlans(unittest.TestCase):
    def test_bits_are_equal_by_every_plan(self):
        with tempfile.TemporaryDirectory() as directory:
            profile = pathlib.Path(directory) / "lacking.yaml"
            profile.write_text(LACKING)
            for network in NETWORKS:
                with self.subTest(network):
                    compiled = pathlib.Path(directory) / f"{network}.ovm"
                    result = overtake("compile", MODELS / f"{network}.onnx", "-o", compiled, "--calibration",
                                      MODELS / f"{network}_calibration.npy", "--class", "npu=default", "--class",
                                      f"lacking={profile}", "--class", "cpu", "--min-unit", "1")  # fmt: skip
                    self.assertEqual(result.returncode, 0, result.stderr)
                    ran = subprocess.run([UNIT_PLANS, compiled, COUNT, "7"], capture_output=True, text=True,
                                         timeout=3000)  # fmt: skip
                    self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
                    print(f"{network}: {ran.stdout.strip()}")


if __name__ == "__main__":
    unittest.main()
