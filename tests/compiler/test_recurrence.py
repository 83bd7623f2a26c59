# SPDX-License-Identifier: MIT
"""RNN, GRU and LSTM on the CPU, in each form that ONNX has, against numpy; and networks in which the device
runs the nodes around them."""

import functools
import itertools
import json
import pathlib
import random
import tempfile
import unittest

import numpy as np

import model_file
from overtake_command import cosine, float_and_compiled, info, overtake, succeed
from recurrences import FUNCTIONS, GATES, USUAL, recurrence
from small_models import model, node, save

PLAIN = ["Sigmoid", "Tanh", "Relu", "Softsign", "Softplus"]


class Drawn:
    """A node with random attributes and inputs, and its result."""

    def __init__(self, seed):
        chance, numbers = random.Random(seed), np.random.default_rng(seed)
        real = lambda *shape: numbers.uniform(-1, 1, shape).astype(np.float32)  # noqa: E731
        self.kind = chance.choice(["RNN", "GRU", "LSTM"])
        self.batch_first = chance.random() < 0.3
        direction = chance.choice(["forward", "reverse", "bidirectional"])
        directions = 2 if direction == "bidirectional" else 1
        steps, batch, features, hidden = (chance.randint(1, 5) for _ in range(4))
        rows = GATES[self.kind] * hidden
        self.attributes = {"hidden_size": hidden, "direction": direction, "layout": int(self.batch_first)}
        self.x = real(steps, batch, features)
        self.fixed = {"w": real(directions, rows, features), "r": real(directions, rows, hidden)}
        optional = {
            "b": real(directions, 2 * rows), "l": numbers.integers(0, steps + 1, batch).astype(np.int32),
            "h": real(directions, batch, hidden),
        }  # fmt: skip
        if self.kind == "LSTM":
            optional |= {"c": real(directions, batch, hidden), "p": real(directions, 3 * hidden)}
        self.given = {name: array for name, array in optional.items() if chance.random() < 0.6}
        self.names = ["x", "w", "r"] + [name if name in self.given else "" for name in optional]
        functions = self.draw_functions(chance, directions)
        if chance.random() < 0.3:
            self.attributes["clip"] = 0.5
        for name, kind in (("linear_before_reset", "GRU"), ("input_forget", "LSTM")):
            if self.kind == kind and chance.random() < 0.5:
                self.attributes[name] = 1
        options = {k: v for k, v in self.attributes.items() if k in ("clip", "linear_before_reset", "input_forget")}
        self.wanted = recurrence(
            self.kind, self.x, *self.fixed.values(), self.given.get("b"), self.given.get("l"),
            self.given.get("h"), self.given.get("c"), self.given.get("p"), functions=functions,
            reverse=[direction == "reverse"] if directions == 1 else [False, True], **options,
        )[: 3 if self.kind == "LSTM" else 2]  # fmt: skip

    def draw_functions(self, chance, directions):
        if chance.random() < 0.5:
            return None
        count = len(USUAL[self.kind]) * directions
        names = [chance.choice(PLAIN + ["HardSigmoid", "LeakyRelu", "Elu"]) for _ in range(count)]
        self.attributes["activations"] = names
        alphas, betas, functions = [], [], []
        for name in names:
            given = {}
            if name in ("HardSigmoid", "LeakyRelu", "Elu"):
                given["alpha"] = chance.uniform(0.1, 0.9)
                alphas.append(given["alpha"])
            if name == "HardSigmoid":
                given["beta"] = chance.uniform(0.1, 0.9)
                betas.append(given["beta"])
            functions.append(functools.partial(FUNCTIONS[name], **given))
        if alphas:
            self.attributes["activation_alpha"] = alphas
        if betas:
            self.attributes["activation_beta"] = betas
        return functions

    def inputs_and_outputs(self):
        """Returns the names of inputs and outputs as the node has them."""
        if not self.batch_first:
            return {"x": self.x} | self.given, self.wanted
        given = {n: a.swapaxes(0, 1) if n in "hc" else a for n, a in self.given.items()}
        y, *states = self.wanted
        return ({"x": self.x.swapaxes(0, 1)} | given,
                (y.transpose(2, 0, 1, 3), *(state.swapaxes(0, 1) for state in states)))  # fmt: skip


class Case(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.directory = pathlib.Path(holder.name)

    def results(self, proto, inputs, names, *options):
        """Returns the results in float and of the compiled model. The CPU computes recurrences
        unless options say otherwise."""
        path = save(proto, self.directory / "m.onnx")
        found = float_and_compiled(path, inputs, names, self.directory, *(options or ("--unroll", "0")))
        return [[results[name] for name in names] for results in found]


class DynamicallyQuantised(Case):
    def test_an_lstm_of_onnx_runtime(self):
        """Weights have 8 bits, the gates last, by direction or by gate. ONNX Runtime rounds the inputs at run
        time; the compiler does not."""
        random = np.random.default_rng(11)
        steps, batch, features, hidden = 4, 2, 5, 3
        x = random.normal(0, 1, (steps, batch, features)).astype(np.float32)
        for direction, by_gate, kind in itertools.product(
            ("forward", "reverse", "bidirectional"), (False, True), (np.int8, np.uint8)
        ):
            directions = 2 if direction == "bidirectional" else 1
            b = random.normal(0, 0.3, (directions, 8 * hidden)).astype(np.float32)
            constants, real = {"b": b}, {}
            for name, rows in (("w", features), ("r", hidden)):
                low = -128 if kind == np.int8 else 0
                whole = random.integers(low, low + 256, (directions, rows, 4 * hidden))
                shape = (directions, 4 * hidden) if by_gate else (directions,)
                scale = random.uniform(0.003, 0.01, shape).astype(np.float32)
                zero = random.integers(low + 110, low + 140, shape)
                constants |= {name: whole.astype(kind), f"{name}s": scale, f"{name}z": zero.astype(kind)}
                wide = (directions, 1, -1)
                real[name] = ((whole - zero.reshape(wide)) * scale.reshape(wide)).swapaxes(1, 2)
            y, h, c = recurrence("LSTM", x, real["w"], real["r"], b,
                                 reverse=[False, True] if directions == 2 else [direction == "reverse"])  # fmt: skip
            nodes = [node("DynamicQuantizeLSTM", ["x", "w", "r", "b", "", "", "", "", "ws", "wz", "rs", "rz"],
                          ["y", "h", "c"], domain="com.microsoft", hidden_size=hidden, direction=direction)]  # fmt: skip
            wanted = {"y": y, "h": h, "c": c}
            proto = model(nodes, {"x": x.shape}, {n: a.shape for n, a in wanted.items()}, constants, opset=11)
            with self.subTest(direction=direction, by_gate=by_gate, kind=kind.__name__):
                in_float, compiled = self.results(proto, {"x": x}, list(wanted))
                for got, again, array in zip(in_float, compiled, wanted.values()):
                    np.testing.assert_allclose(got, array, rtol=1e-4, atol=1e-5)
                    np.testing.assert_allclose(again, array, rtol=1e-4, atol=1e-5)

    def test_a_matrix_product_of_onnx_runtime(self):
        random = np.random.default_rng(12)
        x = random.normal(0, 1, (4, 6)).astype(np.float32)
        whole, zero = random.integers(0, 256, (6, 5)).astype(np.uint8), random.integers(100, 150, 5).astype(np.uint8)
        scale, bias = random.uniform(0.01, 0.02, 5).astype(np.float32), random.normal(0, 1, 5).astype(np.float32)
        for zeros, biases in itertools.product((True, False), repeat=2):
            wanted = x @ ((whole - (zero.astype(float) if zeros else 0)) * scale) + (bias if biases else 0)
            nodes = [node("DynamicQuantizeMatMul", ["x", "w", "s", "z" if zeros else "", "b" if biases else ""],
                          ["y"], domain="com.microsoft")]  # fmt: skip
            constants = {"w": whole, "s": scale, "z": zero, "b": bias}
            used = {name: array for name, array in constants.items() if name in nodes[0].input}
            proto = model(nodes, {"x": x.shape}, {"y": wanted.shape}, used)
            (got,), (again,) = self.results(proto, {"x": x}, ["y"])
            np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-4)
            self.assertGreater(cosine(again, wanted), 0.99)


class Recurrences(Case):
    def test_each_form(self):
        for seed in range(120):
            drawn = Drawn(seed)
            with self.subTest(seed, kind=drawn.kind, attributes=drawn.attributes, inputs=drawn.names):
                inputs, wanted = drawn.inputs_and_outputs()
                # Three of four parameters are constants.
                constants = dict(drawn.fixed)
                if seed % 4 == 0:
                    inputs, constants = inputs | constants, {}
                constants |= {name: inputs.pop(name) for name in ("l", "b") if name in inputs}
                outputs = ["y", "y_h", "y_c"][: len(wanted)]
                nodes = [node(drawn.kind, drawn.names, outputs, **drawn.attributes)]
                shapes = {name: array.shape for name, array in inputs.items()}
                proto = model(nodes, shapes, {n: w.shape for n, w in zip(outputs, wanted)}, constants, opset=14)
                for results in self.results(proto, inputs, outputs):
                    for got, array in zip(results, wanted):
                        np.testing.assert_allclose(got, array, rtol=1e-4, atol=1e-5)

    def test_each_output_alone(self):
        drawn = next(d for d in map(Drawn, range(50)) if d.kind == "LSTM" and not d.batch_first)
        inputs, wanted = drawn.inputs_and_outputs()
        lengths = {"l": inputs.pop("l")} if "l" in inputs else {}
        for number, name in enumerate(["y", "y_h", "y_c"]):
            nodes = [node("LSTM", drawn.names, [""] * number + [name], **drawn.attributes)]
            shapes = {n: a.shape for n, a in inputs.items()}
            proto = model(nodes, shapes, {name: wanted[number].shape}, drawn.fixed | lengths, opset=14)
            for results in self.results(proto, inputs, [name]):
                np.testing.assert_allclose(results[0], wanted[number], rtol=1e-4, atol=1e-5)

    def test_a_network_runs_on_both_processors(self):
        numbers = np.random.default_rng(3)
        real = lambda *shape: numbers.normal(size=shape).astype(np.float32)  # noqa: E731
        x, w = real(1, 4, 6, 8), real(16, 4, 6, 3) * 0.2
        constants = {"w": w, "iw": real(1, 40, 16) * 0.3, "ir": real(1, 40, 10) * 0.3,
                     "a": np.array([0], np.int64), "o": real(10, 5)}  # fmt: skip
        nodes = [
            node("Conv", ["x", "w"], ["c"], name="conv", pads=[0, 1, 0, 1]),
            node("Squeeze", ["c", "two"], ["s"], name="squeeze"),
            node("Transpose", ["s"], ["t"], name="transpose", perm=[2, 0, 1]),
            node("LSTM", ["t", "iw", "ir"], ["", "h"], name="lstm", hidden_size=10),
            node("Squeeze", ["h", "a"], ["z"], name="last"),
            node("MatMul", ["z", "o"], ["y"], name="out"),
        ]
        constants["two"] = np.array([2], np.int64)
        proto = model(nodes, {"x": x.shape}, {"y": (1, 5)}, constants)
        (in_float,), (in_int8,) = self.results(proto, {"x": x}, ["y"])
        np.testing.assert_allclose(in_int8, in_float, atol=0.05 * np.abs(in_float).max())
        segments = info(self.directory / "m.ovm")["segments"]
        self.assertEqual([s["processor"] for s in segments], ["BPU", "CPU", "BPU"])
        self.assertIn("Recurrence", [op["type"] for op in segments[1]["ops"]])

    def unrolled(self, drawn):
        """Returns the network of a drawn node with constant parameters, its inputs, and its
        results."""
        inputs, wanted = drawn.inputs_and_outputs()
        constants = dict(drawn.fixed) | {name: inputs.pop(name) for name in "bp" if name in inputs}
        outputs = ["y", "y_h", "y_c"][: len(wanted)]
        nodes = [node(drawn.kind, drawn.names, outputs, name="it", **drawn.attributes)]
        shapes = {name: array.shape for name, array in inputs.items()}
        proto = model(nodes, shapes, {n: w.shape for n, w in zip(outputs, wanted)}, constants, opset=14)
        return proto, inputs, outputs, wanted

    def test_each_form_on_the_device(self):
        """With 16 bits, errors of the computation show, and rounding hardly does."""
        count = 0
        for seed in range(120):
            drawn = Drawn(seed)
            if "l" in drawn.given:
                continue
            count += 1
            with self.subTest(seed, kind=drawn.kind, attributes=drawn.attributes, inputs=drawn.names):
                proto, inputs, outputs, wanted = self.unrolled(drawn)
                _, on_device = self.results(proto, inputs, outputs, "--run-on-bpu", "it", "--int16", "all")
                for got, array in zip(on_device, wanted):
                    np.testing.assert_allclose(got, array, atol=0.01 * max(1, np.abs(array).max()))
                operators = [op["type"] for s in info(self.directory / "m.ovm")["segments"] for op in s.get("ops", [])]
                self.assertNotIn("Recurrence", operators)
        self.assertGreater(count, 40)

    def test_as_many_steps_are_on_the_device_as_the_option_says(self):
        numbers = np.random.default_rng(5)
        real = lambda *shape: numbers.normal(0, 0.1, shape).astype(np.float32)  # noqa: E731
        for options, steps, hidden, on_device in (
            ([], 4, 96, True), (["--unroll", "4"], 4, 96, True), (["--unroll", "3"], 4, 96, False),
            (["--run-on-cpu", "it"], 4, 96, False), (["--unroll", "0", "--run-on-bpu", "it"], 4, 96, True),
            ([], 16, 96, True), ([], 17, 96, False), (["--unroll", "17"], 17, 96, True),
            # With so small a state, one operator of the CPU takes less time than instructions for
            # each step.
            ([], 4, 3, False),
        ):  # fmt: skip
            with self.subTest(options, steps=steps, hidden=hidden):
                weights = {"w": real(1, 3 * hidden, 20), "r": real(1, 3 * hidden, hidden)}
                x = real(steps, 1, 20)
                nodes = [node("GRU", ["x", "w", "r"], ["y"], name="it", hidden_size=hidden)]
                proto = model(nodes, {"x": x.shape}, {"y": None}, weights, opset=14)
                (in_float,), (compiled,) = self.results(proto, {"x": x}, ["y"], *options, "--seed", "1")
                self.assertGreater(cosine(compiled, in_float), 0.99)
                operators = [op["type"] for s in info(self.directory / "m.ovm")["segments"] for op in s.get("ops", [])]
                self.assertEqual("Recurrence" not in operators, on_device)

    def test_states_and_lengths_that_are_constants_on_the_device(self):
        """Tests states of zeros, few and many, which need no products, and others; lengths are
        those of all steps."""
        numbers = np.random.default_rng(6)
        real = lambda *shape: numbers.normal(0, 0.3, shape).astype(np.float32)  # noqa: E731
        for hidden, state in itertools.product((8, 1100), (np.zeros, np.ones)):
            with self.subTest(hidden=hidden, state=state.__name__):
                h = state((1, 1, hidden)).astype(np.float32)
                fixed = {"w": real(1, 4 * hidden, 3), "r": real(1, 4 * hidden, hidden) / np.float32(np.sqrt(hidden)), "h": h, "c": h,
                         "l": np.array([2], np.int32)}  # fmt: skip
                x = real(2, 1, 3)
                wanted, _, _ = recurrence("LSTM", x, fixed["w"], fixed["r"], state=h, cell=h)
                nodes = [node("LSTM", ["x", "w", "r", "", "l", "h", "c"], ["y"], name="it", hidden_size=hidden)]
                proto = model(nodes, {"x": x.shape}, {"y": None}, fixed, opset=14)
                _, (got,) = self.results(proto, {"x": x}, ["y"], "--run-on-bpu", "it", "--int16", "all")
                np.testing.assert_allclose(got, wanted, atol=0.02)

    def test_one_quantised_at_run_time_on_the_device(self):
        random = np.random.default_rng(7)
        x = random.normal(0, 1, (2, 1, 5)).astype(np.float32)
        constants = {"b": random.normal(0, 0.3, (1, 24)).astype(np.float32), "s": np.array([0.006], np.float32),
                     "z": np.array([3], np.int8)}  # fmt: skip
        constants |= {name: random.integers(-128, 128, (1, rows, 12)).astype(np.int8) for name, rows in (("w", 5), ("r", 3))}
        w, r = ((constants[name].astype(np.float32) - 3).swapaxes(1, 2) * 0.006 for name in "wr")
        wanted, _, _ = recurrence("LSTM", x, w, r, constants["b"])
        nodes = [node("DynamicQuantizeLSTM", ["x", "w", "r", "b", "", "", "", "", "s", "z", "s", "z"], ["y"],
                      domain="com.microsoft", name="it", hidden_size=3)]  # fmt: skip
        proto = model(nodes, {"x": x.shape}, {"y": wanted.shape}, constants, opset=11)
        _, (got,) = self.results(proto, {"x": x}, ["y"], "--run-on-bpu", "it", "--int16", "all")
        np.testing.assert_allclose(got, wanted, atol=0.02)

    def gru(self, hidden=96, steps=4):
        """Makes a network of one node, and samples for it."""
        numbers = np.random.default_rng(8)
        weights = {name: numbers.normal(0, 0.1, (1, 3 * hidden, columns)).astype(np.float32)
                   for name, columns in (("w", 20), ("r", hidden))}  # fmt: skip
        x = numbers.normal(size=(steps, 1, 20)).astype(np.float32)
        nodes = [node("GRU", ["x", "w", "r"], ["", "h"], name="it", hidden_size=hidden)]
        return save(model(nodes, {"x": x.shape}, {"h": None}, weights, opset=14), self.directory / "m.onnx")

    def test_a_board_file_says_where_it_runs(self):
        """The compiler does not warn the user of what the file asked for."""
        file, compiled = self.directory / "board.yaml", self.directory / "board.ovm"
        for processor in ("BPU", "CPU"):
            with self.subTest(processor):
                file.write_text(f"model_parameters:\n  onnx_model: {self.gru()}\n  node_info: {{it: {{ON: {processor}}}}}\n"
                                "input_parameters:\n  input_type_train: featuremap\n")  # fmt: skip
                result = overtake("compile", "--config", file, "-o", compiled, "--unroll", "0")
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertNotIn("multiply-accumulates", result.stderr)
                self.assertEqual([s["processor"] for s in info(compiled)["segments"]], [processor])

    def test_a_board_file_gives_it_16_bits(self):
        """The file names the node by its operator, although the device computes it as others, or by
        its name."""
        file, compiled = self.directory / "board.yaml", self.directory / "board.ovm"

        def tensors_of_16_bits(group, wish):
            file.write_text(f"model_parameters:\n  onnx_model: {self.gru()}\n  {wish if group == 'model' else ''}\n"
                            "input_parameters:\n  input_type_train: featuremap\n"
                            f"calibration_parameters:\n  {wish if group == 'calibration' else 'cal_data_type: float32'}\n")  # fmt: skip
            result = overtake("compile", "--config", file, "-o", compiled)
            self.assertEqual(result.returncode, 0, result.stderr)
            tensors = model_file.ModelFile(compiled).tensors
            return sum(tensor.is_int16 for tensor in tensors) / len(tensors), result.stderr

        few, _ = tensors_of_16_bits("", "")
        for group, wish in (("calibration", "optimization: set_GRU_input_int16"), ("model", "set_node_data_type: it:int16"),
                            ("model", "node_info: {it: {InputType: int16}}")):  # fmt: skip
            with self.subTest(wish):
                many, said = tensors_of_16_bits(group, wish)
                self.assertGreater(many, max(few, 0.9))
                self.assertNotIn(wish.split(":")[0], said)
        for wish, said in (("set_LSTM_input_int16", "the network has no LSTM node"),
                           ("set_GRU_input_int8", ""), ("set_LSTM_output_int8", "the network has no LSTM node")):  # fmt: skip
            with self.subTest(wish):
                text = tensors_of_16_bits("calibration", "optimization: " + wish)[1]
                self.assertIn(said, text) if said else self.assertNotIn("optimization", text)

    def test_check_says_why_one_runs_on_the_cpu(self):
        def reason(path, *options):
            operators = json.loads(succeed("compile", path, "--check", "--json", *options))["operators"]
            (reason,) = next(each["reasons_for_cpu"] for each in operators if each["operator"] == "GRU")
            self.assertEqual(reason["nodes"], ["it"])
            return reason["reason"]

        lacking = self.directory / "lacking.yaml"
        lacking.write_text("name: lacking\nsource: a test\nclock_khz: 1000000\nmacs_per_cycle: 256\nvector_per_cycle: 64\n"
                           "bytes_per_cycle: 32\ninsn_overhead_cycles: 200\nfc_overhead_cycles: 1000\nwithout: [TABLE]\n")  # fmt: skip
        self.assertEqual(reason(self.gru(), "--unroll", "3"), "it has 4 steps, and --unroll allows 3")
        self.assertEqual(reason(self.gru(hidden=3)), "the CPU takes less time for it")
        self.assertEqual(reason(self.gru(), "--profile", lacking), f"cores of profile {lacking} lack its instructions")
        self.assertEqual(reason(self.gru(), "--run-on-cpu", "it"), "it is to run there")

    def test_as_many_steps_as_there_is_room_for(self):
        result = overtake("compile", self.gru(hidden=3, steps=1025), "--run-on-bpu", "it")
        self.assertEqual(result.returncode, 1)
        self.assertIn("has no form on the BPU, where it is to run: it has more than 1024 steps", result.stderr)

    def test_a_part_that_is_left_to_the_cpu_takes_the_whole_with_it(self):
        """The scales come with the model, which has none for the parts."""
        numbers = np.random.default_rng(9)
        real = lambda *shape: numbers.normal(0, 0.1, shape).astype(np.float32)  # noqa: E731
        constants = {"w": real(1, 384, 20), "r": real(1, 384, 96), "s": np.array(0.05, np.float32), "z": np.array(0, np.int8)}
        nodes = [node("QuantizeLinear", ["x", "s", "z"], ["q"]), node("DequantizeLinear", ["q", "s", "z"], ["d"]),
                 node("LSTM", ["d", "w", "r"], ["y"], name="it", hidden_size=96)]  # fmt: skip
        path = save(model(nodes, {"x": (4, 1, 20)}, {"y": None}, constants, opset=14), self.directory / "m.onnx")
        result = overtake("compile", path)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("the model gives no scales for 1 node ('it'), which run on the CPU", result.stderr)
        operators = [op["type"] for s in info(self.directory / "m.ovm")["segments"] for op in s.get("ops", [])]
        self.assertEqual(operators.count("Recurrence"), 1)

    def test_a_node_that_the_device_cannot_compute_is_refused_there(self):
        for taken, where in (("w", "its weights are computed"), ("l", "its sequences may end before the last step")):
            with self.subTest(where):
                drawn = next(d for d in map(Drawn, range(200))
                             if d.kind == "LSTM" and taken in d.given | d.fixed and ("l" in d.given) == (taken == "l"))  # fmt: skip
                inputs, _ = drawn.inputs_and_outputs()
                constants = dict(drawn.fixed)
                if taken == "w":
                    inputs["w"] = constants.pop("w")
                else:
                    constants["l"] = np.zeros_like(inputs.pop("l"))
                nodes = [node(drawn.kind, drawn.names, ["y"], name="it", **drawn.attributes)]
                proto = model(nodes, {n: a.shape for n, a in inputs.items()}, {"y": None}, constants, opset=14)
                result = overtake("compile", save(proto, self.directory / "m.onnx"), "--run-on-bpu", "it")
                self.assertEqual(result.returncode, 1)
                self.assertIn(f"node 'it' (LSTM): has no form on the BPU, where it is to run: {where}", result.stderr)

    def test_refusals_name_the_node_and_the_reason(self):
        numbers = np.random.default_rng(4)
        weights = {"w": numbers.normal(size=(1, 12, 3)), "r": numbers.normal(size=(1, 12, 4)), "b": numbers.normal(size=(1, 20))}
        weights = {name: array.astype(np.float32) for name, array in weights.items()}
        for kind, names, attributes, said in (
            ("GRU", ["x", "w", "r", "b"], {"hidden_size": 4}, "its bias has another shape than 1x24"),
            ("LSTM", ["x", "w", "r"], {"hidden_size": 4}, "its weights do not fit its input and direction"),
            ("GRU", ["x", "w", "r"], {"hidden_size": 4, "activations": ["Sigmoid"]}, "its activations are not 2"),
            ("GRU", ["x", "w", "r"], {"hidden_size": 4, "activations": ["Sigmoid", "Sinus"]},
             "its activation 'Sinus' is not supported"),
            ("GRU", ["x", "w", "r"], {"hidden_size": 4, "clip": -1.0}, "its clip is negative"),
        ):  # fmt: skip
            with self.subTest(said):
                nodes = [node(kind, names, ["y"], name="it", **attributes)]
                proto = model(nodes, {"x": (2, 1, 3)}, {"y": None}, weights, opset=14)
                result = overtake("compile", save(proto, self.directory / "m.onnx"))
                self.assertEqual(result.returncode, 1)
                self.assertIn(f"node 'it' ({kind}): {said}", result.stderr)


if __name__ == "__main__":
    unittest.main()
