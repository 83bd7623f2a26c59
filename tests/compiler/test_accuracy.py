# SPDX-License-Identifier: MIT
"""--accuracy: as near to float as was asked for, with as few nodes in 16 bits or on the CPU as that takes."""

import json
import pathlib
import tempfile
import unittest

import numpy as np

from overtake_command import cosine, info, overtake, succeed
from small_models import model, node, save

SHAPE = (1, 4, 8, 8)


def hard(near=100000):
    """Two branches of x: `easy` is a convolution; `hard` goes by way of numbers near 100000, of which
    16 bits hold nothing of x, or near 1000, of which 8 bits hold nothing, between two convolutions."""
    random = np.random.default_rng(3)
    return model(
        [
            node("Conv", ["x", "w", "b"], ["features"], name="features"),
            node("Relu", ["features"], ["positive"], name="positive"),
            node("Conv", ["positive", "w1"], ["easy"], name="easy"),
            node("Conv", ["positive", "one", "up"], ["far"], name="away"),
            node("Relu", ["far"], ["far_positive"], name="far_positive"),
            node("Conv", ["far_positive", "one", "down"], ["back"], name="back"),
            node("Conv", ["back", "w1"], ["hard"], name="hard"),
        ],
        {"x": SHAPE}, {"easy": SHAPE, "hard": SHAPE},
        {
            "w": random.normal(0, 0.5, (4, 4, 1, 1)).astype(np.float32),
            "b": random.normal(0, 0.1, 4).astype(np.float32),
            "w1": random.normal(0, 0.5, (4, 4, 1, 1)).astype(np.float32),
            "one": np.eye(4, dtype=np.float32).reshape(4, 4, 1, 1),
            "up": np.full(4, near, np.float32),
            "down": np.full(4, -near, np.float32),
        },
    )  # fmt: skip


class Accuracy(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.path = save(hard(), self.folder / "m.onnx")
        random = np.random.default_rng(4)
        np.save(self.folder / "x.npy", random.normal(0, 1, (12, *SHAPE[1:])).astype(np.float32))

    def compile(self, *options):
        return overtake("compile", self.path, "--calibration", self.folder / "x.npy",
                        "-o", self.folder / "m.ovm", *options)  # fmt: skip

    def searched(self, accuracy, *options):
        result = self.compile("--accuracy", accuracy, "--json", *options)
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)["accuracy"]

    def cosines(self):
        """Returns the cosines of the compiled model to float, by output."""
        outputs = {}
        for name, path in (("float", self.path), ("int8", self.folder / "m.ovm")):
            target = self.folder / name
            succeed("run", path, "--input", f"x={self.folder / 'x.npy'}", "--output-dir", target,
                    *(["--device", "embedded"] if name == "int8" else []), "-q")  # fmt: skip
            outputs[name] = {file.stem: np.load(file) for file in target.glob("*.npy")}
        return {
            name: cosine(outputs["int8"][name], values) for name, values in outputs["float"].items()
        }

    def test_what_int8_reaches_stays_on_the_device(self):
        report = self.searched(0.3)
        tried = [attempt["tried"] for attempt in report["attempts"]]
        self.assertEqual(tried[:4], ["min-max", "percentile", "kl", "mse"])
        (chosen,) = [attempt for attempt in report["attempts"] if attempt["chosen"]]
        self.assertEqual((chosen["in_float"], chosen["cpu_us"]), ([], 0))
        self.assertEqual(info(self.folder / "m.ovm")["total"]["nodes_on_cpu"], 0)
        self.assertEqual((report["wanted"], report["samples"]), (0.3, 12))

    def test_only_what_loses_computes_in_float(self):
        report = self.searched(0.999)
        (chosen,) = [attempt for attempt in report["attempts"] if attempt["chosen"]]
        self.assertLessEqual({"away", "far_positive", "back"}, set(chosen["in_float"]))
        self.assertNotIn("features", chosen["in_float"])
        self.assertNotIn("easy", chosen["in_float"])
        self.assertGreater(chosen["cpu_us"], 0)
        self.assertLess(chosen["device_us"], report["attempts"][0]["device_us"])
        for output in chosen["outputs"]:
            self.assertGreaterEqual(output["cosine"], 0.999)
        int8 = {output["name"]: output["cosine"] for output in report["attempts"][0]["outputs"]}
        self.assertLess(int8["hard"], 0.9)
        for name, value in self.cosines().items():
            self.assertGreaterEqual(value, 0.999, name)
        compared = info(self.folder / "m.ovm")["calibration"]
        self.assertEqual(compared["compared"], 12)

    def test_only_what_loses_has_16_bits_where_they_suffice(self):
        save(hard(1000), self.path)
        report = self.searched(0.999)
        (chosen,) = [attempt for attempt in report["attempts"] if attempt["chosen"]]
        self.assertEqual((chosen["in_float"], chosen["cpu_us"]), ([], 0))
        self.assertLessEqual({"away", "far_positive"}, set(chosen["in_16_bits"]))
        self.assertNotIn("easy", chosen["in_16_bits"])
        self.assertRegex(chosen["tried"], rf"^{len(chosen['in_16_bits'])} nodes in 16 bits$")
        self.assertEqual(info(self.folder / "m.ovm")["total"]["nodes_on_cpu"], 0)
        for name, value in self.cosines().items():
            self.assertGreaterEqual(value, 0.999, name)
        # The names are those of --int16.
        options = sum((["--int16", name] for name in chosen["in_16_bits"]), [])
        self.assertEqual(self.compile("-q", *options).returncode, 0)
        self.assertEqual(info(self.folder / "m.ovm")["isa_version"], "1.2")
        self.assertGreaterEqual(self.cosines()["hard"], 0.999)

    def test_nodes_of_the_device_may_have_16_bits_and_not_move(self):
        save(hard(1000), self.path)
        kept = sum((["--run-on-bpu", name] for name in ("features", "easy", "away", "back", "far_positive")), [])
        report = self.searched(0.999, *kept)
        (chosen,) = [attempt for attempt in report["attempts"] if attempt["chosen"]]
        self.assertEqual(chosen["in_float"], [])
        self.assertIn("away", chosen["in_16_bits"])

    def test_the_nodes_it_names_are_those_of_run_on_cpu(self):
        self.searched(0.999)
        found = info(self.folder / "m.ovm")
        (chosen,) = [a for a in self.searched(0.999)["attempts"] if a["chosen"]]
        options = sum((["--run-on-cpu", name] for name in chosen["in_float"]), [])
        self.assertEqual(self.compile("-q", *options).returncode, 0)
        again = info(self.folder / "m.ovm")
        where = [[(n["name"], n["processor"]) for n in one["nodes"]] for one in (found, again)]
        self.assertEqual(*where)

    def test_an_int8_output_stays_one(self):
        report = self.searched(0.999, "--int8-outputs")
        (chosen,) = [attempt for attempt in report["attempts"] if attempt["chosen"]]
        self.assertLessEqual({"away", "back"}, set(chosen["in_float"]))
        types = {tensor["name"]: tensor["data_type"] for tensor in info(self.folder / "m.ovm")["outputs"]}
        self.assertEqual(types, {"easy": "int8", "hard": "int8"})
        # The output itself is what 8 bits do not hold so well.
        result = self.compile("--accuracy", 1, "--int8-outputs", "--json")
        self.assertEqual(result.returncode, 1)
        self.assertIn("is not reached: output '", result.stderr)

    def test_it_names_what_moved(self):
        """A node that has to stay on the device does not move."""
        report = self.searched(0.99, "--run-on-bpu", "features", "--run-on-bpu", "easy")
        for attempt in report["attempts"]:
            self.assertFalse({"features", "easy"} & set(attempt.get("in_float", [])))
        nodes = {n["name"]: n["processor"] for n in info(self.folder / "m.ovm")["nodes"]}
        self.assertEqual(nodes["easy"], "BPU")
        tried = [tuple(attempt["in_float"]) for attempt in report["attempts"] if attempt.get("in_float")]
        self.assertEqual(len(tried), len(set(tried)))

    def test_parts_of_a_node_are_taken_by_name(self):
        proto = model(
            [node("Conv", ["x", "w"], ["c"], name="c"),
             node("FastGelu", ["c"], ["y"], name="gelu", domain="com.microsoft")],
            {"x": SHAPE}, {"y": SHAPE},
            {"w": np.random.default_rng(3).normal(0, 0.5, (4, 4, 1, 1)).astype(np.float32)},
        )  # fmt: skip
        save(proto, self.path)
        self.compile("-q")
        parts = [n["name"] for n in info(self.folder / "m.ovm")["nodes"] if n["name"].startswith("gelu:")]
        self.assertTrue(parts)
        for name in (parts[0], "gelu"):
            self.assertEqual(self.compile("-q", "--run-on-bpu", "c", "--run-on-cpu", name).returncode, 0)
            where = {n["name"]: n["processor"] for n in info(self.folder / "m.ovm")["nodes"]}
            self.assertIn("CPU", where.values())
            self.assertEqual(where["c"], "BPU")
        self.assertEqual(self.compile("-q", "--run-on-cpu", "gelu:999").returncode, 1)

    def test_a_network_of_the_cpu_is_compiled_once(self):
        names = [n.name for n in hard().graph.node]
        report = self.searched(0.99, *sum((["--run-on-cpu", name] for name in names), []))
        self.assertEqual(len(report["attempts"]), 1)

    def test_outputs_without_a_measure_are_warned_of(self):
        proto = model(
            [node("Conv", ["x", "w"], ["c"], name="c"), node("GlobalAveragePool", ["c"], ["y"], name="pool"),
             node("Log", ["n"], ["l"], name="l"), node("Neg", ["p"], ["n"], name="n"),
             node("Abs", ["x"], ["p0"], name="p0"), node("Add", ["p0", "k"], ["p"], name="p")],
            {"x": (1, 1, 2, 2)}, {"y": (1, 1, 1, 1), "l": (1, 1, 2, 2)},
            {"w": np.ones((1, 1, 1, 1), np.float32), "k": np.ones(1, np.float32)},
        )  # fmt: skip
        nodes = {n.name: n for n in proto.graph.node}
        del proto.graph.node[:]
        proto.graph.node.extend(nodes[name] for name in ("c", "pool", "p0", "p", "n", "l"))
        save(proto, self.path)
        np.save(self.folder / "x.npy", np.full((1, 1, 2, 2), 3, np.float32))
        result = self.compile("--accuracy", 0.5, *sum((["--run-on-cpu", name] for name in ("p0", "p", "n", "l")), []))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("output 'l' has no finite number in float over the samples", result.stderr)
        self.assertIn("output 'y' is one number over all samples", result.stderr)

    def test_a_rounding_that_a_node_cannot_run_with_is_no_end(self):
        """An index that rounding takes out of its table."""
        proto = model(
            [node("Conv", ["x", "w"], ["f"], name="conv"), node("Relu", ["f"], ["fr"], name="relu"),
             node("Round", ["fr"], ["r"], name="round"), node("Cast", ["r"], ["i"], name="cast", to=7),
             node("Reshape", ["i", "flat"], ["ii"], name="flat"), node("Gather", ["table", "ii"], ["y"], name="gather")],
            {"x": SHAPE}, {"y": (256,)},
            {"w": np.eye(4, dtype=np.float32).reshape(4, 4, 1, 1), "flat": np.array([-1]),
             "table": np.arange(10, dtype=np.float32)},
        )  # fmt: skip
        save(proto, self.path)
        x = np.random.default_rng(1).uniform(0, 9.49, (8, *SHAPE[1:])).astype(np.float32)
        x[0, 0, 0, 0] = 9.49
        np.save(self.folder / "x.npy", x)
        report = self.searched(0.99999)
        (chosen,) = [attempt for attempt in report["attempts"] if attempt["chosen"]]
        self.assertGreaterEqual(chosen["outputs"][0]["cosine"], 0.99999)

    def saved(self, nodes, inputs, outputs, constants, x):
        save(model(nodes, inputs, outputs, constants), self.path)
        np.save(self.folder / "x.npy", x)

    def test_an_output_of_the_cpu_that_the_device_reads_is_what_it_reads(self):
        """The device reads the output in 8 bits, which one great number makes coarse for the small ones."""
        x = np.random.default_rng(5).normal(0, 1, (6, *SHAPE[1:])).astype(np.float32)
        x[:, :, 0, 0] *= 200
        self.saved(
            [node("CumSum", ["x", "axis"], ["d"], name="sum"), node("GlobalMaxPool", ["d"], ["p"], name="pool")],
            {"x": SHAPE}, {"d": SHAPE, "p": (1, 4, 1, 1)}, {"axis": np.array(1)}, x,
        )  # fmt: skip
        report = self.searched(0.9, "--run-on-bpu", "pool")
        for attempt in report["attempts"]:
            if attempt["chosen"]:
                reported = {output["name"]: output["cosine"] for output in attempt["outputs"]}
        for name, value in self.cosines().items():
            self.assertAlmostEqual(value, reported[name], places=5)
        self.assertLess(reported["d"], 0.99999)

    def test_a_copy_of_an_output_in_float_is_in_float(self):
        x = np.random.default_rng(5).normal(0, 1, (6, *SHAPE[1:])).astype(np.float32)
        w = np.random.default_rng(3).normal(0, 0.5, (4, 4, 1, 1)).astype(np.float32)
        self.saved([node("Conv", ["x", "w"], ["a"], name="a"), node("Identity", ["a"], ["b"], name="b")],
                   {"x": SHAPE}, {"a": SHAPE, "b": SHAPE}, {"w": w}, x)  # fmt: skip
        report = self.searched(1)
        (chosen,) = [attempt for attempt in report["attempts"] if attempt["chosen"]]
        self.assertEqual([output["cosine"] for output in chosen["outputs"]], [1, 1])

    def test_what_no_attempt_compiles_is_one_line(self):
        """An index at the end of its table, which rounding takes beyond it while a node of the
        device reads the same input."""
        x = np.random.default_rng(1).uniform(-1999.9, 1999.9, (8, *SHAPE[1:])).astype(np.float32)
        x[:, 0, 0, :2] = -1999.9, 1999.9
        self.saved(
            [node("Conv", ["x", "w"], ["a"], name="c"), node("Cast", ["x"], ["i"], name="cast", to=7),
             node("MaxPool", ["x"], ["p"], name="pool", kernel_shape=[2, 2]),
             node("Reshape", ["i", "flat"], ["ii"], name="flat"), node("Gather", ["table", "ii"], ["y"], name="gather")],
            {"x": SHAPE}, {"a": SHAPE, "p": (1, 4, 7, 7), "y": (256,)},
            {"w": np.eye(4, dtype=np.float32).reshape(4, 4, 1, 1), "flat": np.array([-1]),
             "table": np.arange(2000, dtype=np.float32)}, x,
        )  # fmt: skip
        # An output in 8 bits that is moved from the input keeps the input in 8 bits.
        result = self.compile("--accuracy", 0.9, "--run-on-bpu", "c", "--run-on-bpu", "pool", "--int8-outputs")
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("is not reached, as no attempt compiles: ", result.stderr.splitlines()[-1])
        self.assertFalse((self.folder / "m.ovm").exists())
        (chosen,) = [attempt for attempt in self.searched(0.9)["attempts"] if attempt["chosen"]]
        self.assertIn("c", chosen["in_16_bits"])

    def test_the_table_names_what_was_tried(self):
        result = self.compile("--accuracy", 0.999)
        self.assertEqual(result.returncode, 0, result.stderr)
        lines = result.stdout.splitlines()
        self.assertEqual(lines[1], "cosine of at least 0.999 wanted of each output, and of 0.99 of its rarer sign, over 12 samples")
        self.assertEqual(sum(line.startswith("* ") for line in lines), 1)
        self.assertRegex(lines[3], r"^  min-max +0\.\d{6} +0\.\d{6} +\d+\.\d +0\.0  hard$")
        self.assertRegex(lines[-1], r"^  in float on the CPU: '")

    def test_what_cannot_be_reached_is_refused_with_what_was_tried(self):
        kept = sum((["--run-on-bpu", name] for name in ("away", "back", "far_positive")), [])
        result = self.compile("--accuracy", 0.999, *kept)
        self.assertEqual(result.returncode, 1)
        self.assertIn("min-max", result.stderr)
        self.assertRegex(
            result.stderr.splitlines()[-1],
            r"^overtake: .*m\.onnx: --accuracy 0\.999: is not reached: output 'hard' has a cosine of "
            r"0\.\d{6} with .*, the nearest of \d+ attempts; ",
        )
        self.assertFalse((self.folder / "m.ovm").exists())

    def test_equal_to_float_is_all_in_float(self):
        report = self.searched(1)
        (chosen,) = [attempt for attempt in report["attempts"] if attempt["chosen"]]
        for output in chosen["outputs"]:
            self.assertEqual(output["cosine"], 1)

    def test_the_same_options_give_the_same_file(self):
        self.searched(0.999)
        first = (self.folder / "m.ovm").read_bytes()
        self.searched(0.999)
        self.assertEqual((self.folder / "m.ovm").read_bytes(), first)

    def test_few_numbers_of_the_rarer_sign_count_apart(self):
        """A detector's chances of something begin as numbers, of which those above zero are few and small."""
        random = np.random.default_rng(11)
        shape = (1, 8, 6, 6)
        weights = np.eye(8, dtype=np.float32).reshape(8, 8, 1, 1)
        path = save(model([node("Conv", ["x", "w"], ["y"], name="chances")], {"x": shape}, {"y": shape}, {"w": weights}),
                    self.folder / "m.onnx")  # fmt: skip
        numbers = random.uniform(-900, -100, (6, *shape[1:])).astype(np.float32)
        numbers[:, :, 2, 3] = random.uniform(0.5, 3, (6, 8))
        np.save(self.folder / "x.npy", numbers)

        def tried(accuracy):
            result = self.compile("--accuracy", accuracy, "--json")
            self.assertEqual(result.returncode, 0, result.stderr)
            attempts = json.loads(result.stdout)["accuracy"]["attempts"]
            (chosen,) = [attempt for attempt in attempts if attempt["chosen"]]
            return attempts[0]["outputs"][0], chosen["outputs"][0], chosen

        first, found, chosen = tried(0.99)
        self.assertGreater(first["cosine"], 0.999)
        self.assertLess(first["rarer_sign"], 0.9)
        self.assertGreaterEqual(found["rarer_sign"], 0.9)
        self.assertEqual(chosen["in_16_bits"], ["chances"])
        first, found, chosen = tried(0.89)
        self.assertEqual((first, chosen["in_16_bits"]), (found, []))
        self.assertEqual(path, self.path)
        text = self.compile("--accuracy", 0.99).stdout
        self.assertIn("cosine of at least 0.99 wanted of each output, and of 0.9 of its rarer sign, over 6 samples", text)
        self.assertNotIn("rarer sign,", self.compile("--accuracy", 0.89).stdout)
        random_only = np.where(numbers > 0, -1, numbers)
        np.save(self.folder / "x.npy", random_only)
        self.assertIsNone(tried(0.99)[0]["rarer_sign"])
        # Nothing is both on the device and that near.
        np.save(self.folder / "x.npy", numbers)
        result = self.compile("--accuracy", 0.9999999, "--run-on-bpu", "chances")
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stderr, r"output 'y' has a cosine of \d\.\d+, and its rarer sign one of 0\.\d+, with 1 node in 16 bits")


class States(unittest.TestCase):
    def test_the_device_follows_the_states_that_it_computes(self):
        """The report has the result of a run over the same steps, in which errors of the state add up."""
        random = np.random.default_rng(7)
        shape, steps = (1, 4, 1, 1), 120
        proto = model(
            [node("Concat", ["x", "s"], ["both"], axis=1), node("Conv", ["both", "w"], ["t"], name="step"),
             node("Conv", ["t", "v"], ["y"], name="out")],
            {"x": shape, "s": shape}, {"y": shape, "t": shape},
            {"w": np.concatenate([0.05 * np.eye(4), 0.97 * np.eye(4)], axis=1)
                .astype(np.float32).reshape(4, 8, 1, 1),
             "v": random.normal(0, 1, (4, 4, 1, 1)).astype(np.float32)},
        )  # fmt: skip
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            path = save(proto, folder / "m.onnx")
            np.save(folder / "x.npy", random.normal(0.3, 1, (steps, *shape[1:])).astype(np.float32))
            result = overtake("compile", path, "--calibration", f"x={folder / 'x.npy'}", "--state", "t=s",
                              "--accuracy", 0.1, "--json", "-o", folder / "m.ovm")  # fmt: skip
            self.assertEqual(result.returncode, 0, result.stderr)
            attempts = json.loads(result.stdout)["accuracy"]["attempts"]
            (chosen,) = [attempt for attempt in attempts if attempt["chosen"]]
            outputs = {}
            for kind, file, options in (("float", path, []), ("int8", folder / "m.ovm", ["--device", "embedded"])):
                succeed("run", file, "--input", f"x={folder / 'x.npy'}", "--state", "t=s", *options,
                        "--output-dir", folder / kind, "-q")  # fmt: skip
                outputs[kind] = {stem: np.load(folder / kind / f"{stem}.npy") for stem in ("y", "t")}
            for output in chosen["outputs"]:
                got, wanted = (outputs[kind][output["name"]] for kind in ("int8", "float"))
                self.assertLess(output["cosine"], 0.9999)
                self.assertAlmostEqual(output["cosine"], cosine(got, wanted), places=5)


if __name__ == "__main__":
    unittest.main()
