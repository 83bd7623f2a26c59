# SPDX-License-Identifier: MIT
"""overtake compare: its numbers are those of numpy, and its exit status."""

import unittest

import numpy as np

from overtake_command import CommandTest, overtake


class Compare(CommandTest):
    def setUp(self):
        super().setUp()
        self.random = np.random.default_rng(11)
        self.a, self.b = self.directory / "a", self.directory / "b"
        self.a.mkdir()
        self.b.mkdir()

    def save(self, name, left, right):
        np.save(self.a / f"{name}.npy", left)
        np.save(self.b / f"{name}.npy", right)

    def arrays(self, *shape, noise=0.1):
        right = self.random.normal(size=shape).astype(np.float32)
        left = right + noise * self.random.normal(size=shape).astype(np.float32)
        return np.where(self.random.random(shape) < 0.3, right, left).astype(np.float32), right

    def compare(self, *options):
        return self.succeed_json("compare", self.a, self.b, *options)

    def test_numbers_are_numpys(self):
        arrays = {
            "boxes": self.arrays(3, 7, 5),
            "near": self.arrays(1, 1000, noise=1e-7),
            "scores_out": self.arrays(4000),
            "large": tuple(1e20 * array for array in self.arrays(50)),
        }
        for name, pair in arrays.items():
            self.save(name, *pair)
        result = self.compare()
        self.assertEqual([output["name"] for output in result["outputs"]], sorted(arrays))
        for output in result["outputs"]:
            left, right = (array.astype(np.float64) for array in arrays[output["name"]])
            self.assertEqual(output["shape"], list(left.shape))
            self.assertEqual(output["elements"], left.size)
            self.assertEqual(output["differing"], np.count_nonzero(left != right))
            self.assertGreater(output["differing"], 0)
            self.assertEqual(output["max_error"], np.abs(left - right).max())
            cosine = np.vdot(left, right) / np.linalg.norm(left) / np.linalg.norm(right)
            self.assertAlmostEqual(output["cosine"], cosine, places=12)
            relative = np.linalg.norm(left - right) / np.linalg.norm(right)
            self.assertAlmostEqual(output["relative_error"] / relative, 1, places=9)
        self.assertIs(result["equal"], False)
        self.assertIs(result["within_tolerance"], True)

    def test_equal_runs(self):
        values, _ = self.arrays(4, 4)
        values[0, 0], values[0, 1] = np.nan, np.inf
        self.save("y", values, values)
        self.save("zero", np.zeros(3, np.float32), -np.zeros(3, np.float32))
        result = self.compare("--exact", "--max-error", 0, "--cosine", 0.999999)
        self.assertIs(result["equal"], True)
        self.assertEqual({output["differing"] for output in result["outputs"]}, {0})
        self.assertEqual({output["max_error"] for output in result["outputs"]}, {0})

    def test_what_is_not_finite(self):
        self.save("y", np.float32([1, np.nan, 3]), np.float32([1, 2, 3]))
        result = self.compare()
        self.assertIsNone(result["outputs"][0]["max_error"])
        self.assertEqual(result["outputs"][0]["differing"], 1)
        text = overtake("compare", self.a, self.b, "--max-error", 1e30)
        self.assertEqual(text.returncode, 1)
        self.assertIn("y: error inf is above 1e+30", text.stderr)
        self.save("y", np.float32([1]), np.float32([np.nan]))
        self.assertIsNone(self.compare()["outputs"][0]["cosine"])
        self.assertEqual(overtake("compare", self.a, self.b, "--cosine", 0.5).returncode, 1)

    def test_exit_statuses(self):
        self.save("y", np.float32([1, 2, 3]), np.float32([1, 2, 3.25]))
        cosine = self.compare()["outputs"][0]["cosine"]
        for status, options in [
            (0, []),
            (1, ["--exact"]),
            (0, ["--max-error", 0.25]),
            (1, ["--max-error", 0.2499]),
            (0, ["--cosine", cosine - 1e-9]),
            (1, ["--cosine", cosine + 1e-9]),
            (1, ["--cosine", 0.5, "--max-error", 0.1]),
            (2, ["--cosine", 1.5]),
            (2, ["--max-error", -1]),
        ]:
            with self.subTest(options=options):
                result = overtake("compare", self.a, self.b, *options)
                self.assertEqual(result.returncode, status, result.stderr)
                if status == 1:
                    self.assertRegex(result.stderr, r"\Aovertake: .* differ: y: .*\n\Z")
                    self.assertRegex(result.stdout, r"\ny +3 +1 ")  # still reported
                    json = overtake("compare", self.a, self.b, *options, "--json")
                    self.assertEqual(json.returncode, 1)
                    self.assertIn('"within_tolerance": false', json.stdout)

    def test_what_cannot_be_compared_is_named_in_one_line(self):
        self.save("y", np.float32([1, 2]), np.float32([1, 2]))
        self.save("z", np.zeros((1, 10), np.float32), np.zeros((1, 12), np.float32))
        np.save(self.a / "left.npy", np.zeros(1))
        np.save(self.b / "right.npy", np.zeros(1))
        (self.b / "notes.txt").write_text("not an output")
        line = (f"only in {self.a}: left; only in {self.b}: right; "
                "of different shapes: z (1x10 and 1x12)")  # fmt: skip
        self.assertIn(f"\nnot compared: {line}\n", self.succeed("compare", self.a, self.b))
        for option in (["--exact"], ["--cosine", 0.9], ["--max-error", 1]):
            result = overtake("compare", self.a, self.b, *option)
            self.assertEqual(result.returncode, 1)
            self.assertIn(line, result.stderr)
        result = self.compare()
        self.assertEqual((result["only_in_a"], result["only_in_b"]), (["left"], ["right"]))
        self.assertEqual(result["different_shape"], ["z (1x10 and 1x12)"])
        self.assertIs(result["equal"], False)

    def test_two_files(self):
        left, right = self.directory / "one.npy", self.directory / "two.npy"
        np.save(left, np.float32([1, 2]))
        np.save(right, np.float64([1, 2]))
        self.assertIs(self.succeed_json("compare", left, right)["equal"], True)

    def test_refusals(self):
        self.save("y", np.zeros(2), np.zeros(2))
        empty = self.directory / "empty"
        empty.mkdir()
        file = self.a / "y.npy"
        self.refuse(1, "holds no .npy file", "compare", self.a, empty)
        self.refuse(1, "two directories or two .npy files", "compare", self.a, file)
        self.refuse(1, "absent", "compare", self.directory / "absent", file)
        self.refuse(2, "B", "compare", self.a)
        (self.b / "y.npy").rename(self.b / "x.npy")
        self.refuse(1, "no output of one name and shape: only in", "compare", self.a, self.b)
        (self.b / "y.npy").write_bytes(file.read_bytes()[:-3])
        self.refuse(1, "y.npy: has fewer elements", "compare", self.a, self.b)


if __name__ == "__main__":
    unittest.main()
