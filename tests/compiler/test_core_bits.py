# SPDX-License-Identifier: MIT
"""Plans for several cores give the bits of one core: random networks, and those of this repository, by random
plans, whose stages are run in random orders and at once. CORE_BITS names the program that does so, OVERTAKE_CORE_NETWORKS how many
random networks there are (80), OVERTAKE_CORE_PLANS how many plans of each (10); thirty have each scheme on 2, 3, 4,
7 and 8 cores, and six each scheme."""

import os
import pathlib
import subprocess
import tempfile
import unittest

import onnx

import random_graphs
from overtake_command import SOURCE

MODELS = pathlib.Path(os.environ.get("OVERTAKE_MODELS", SOURCE / "build/release/models"))
CORE_BITS = os.environ.get("CORE_BITS", str(SOURCE / "build/release/tests/core_bits"))
COUNT = int(os.environ.get("OVERTAKE_CORE_NETWORKS", "80"))
PLANS = os.environ.get("OVERTAKE_CORE_PLANS", "10")
OF_LARGE = os.environ.get("OVERTAKE_CORE_PLANS", "6")
NETWORKS = ["detector", "mobilenetv2", "resnet18", "unet", "vit", "yolo"]


class CoreBits(unittest.TestCase):
    def check(self, plans, seed, paths):
        ran = subprocess.run([CORE_BITS, plans, str(seed), *map(str, paths)], capture_output=True, text=True,
                             timeout=3000)  # fmt: skip
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        return ran.stdout

    def test_random_networks(self):
        with tempfile.TemporaryDirectory() as directory:
            paths = []
            for seed in range(COUNT):
                paths.append(pathlib.Path(directory) / f"{seed}.onnx")
                onnx.save(random_graphs.make(seed).model, paths[-1])
            told = self.check(PLANS, 1, paths)
        print(told)
        self.assertIn("(0 refused)", told)

    def test_networks_of_this_repository(self):
        for network in NETWORKS:
            with self.subTest(network):
                told = self.check(OF_LARGE, 2, [MODELS / f"{network}.onnx"])
                self.assertIn("1 networks (0 refused)", told)
                print(f"{network}: {told}")


if __name__ == "__main__":
    unittest.main()
