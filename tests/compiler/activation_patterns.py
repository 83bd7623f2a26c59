# SPDX-License-Identifier: MIT
"""Activations as exporters write them: several ONNX operators that compute one function."""

import math

import numpy as np

from small_models import node


def number(value):
    return np.float32(value)


def erf(x):
    return np.vectorize(math.erf)(x)


def functions():
    """Yields the title, nodes, constants and function of SiLU and other activations as exporters
    write them."""
    yield "SiLU", [node("Sigmoid", ["x"], ["s"], name="a"), node("Mul", ["x", "s"], ["y"])], {}, (
        lambda x: x / (1 + np.exp(-x))
    )
    yield "quick GELU", [
        node("Mul", ["x", "f"], ["z"], name="a"), node("Sigmoid", ["z"], ["s"], name="b"),
        node("Mul", ["x", "s"], ["y"]),
    ], {"f": number(1.702)}, lambda x: x / (1 + np.exp(-1.702 * x))  # fmt: skip
    gelu = [
        node("Div", ["x", "root"], ["z"], name="a"), node("Erf", ["z"], ["e"], name="b"),
        node("Add", ["e", "one"], ["s"], name="c"),
    ]  # fmt: skip
    constants = {"root": number(math.sqrt(2)), "one": number(1), "half": number(0.5)}
    for title, last in (
        ("GELU", [node("Mul", ["x", "s"], ["p"], name="d"), node("Mul", ["p", "half"], ["y"])]),
        ("GELU, half first", [node("Mul", ["x", "half"], ["p"], name="d"), node("Mul", ["p", "s"], ["y"])]),
    ):  # fmt: skip
        yield title, gelu + last, constants, lambda x: x * 0.5 * (1 + erf(x / math.sqrt(2)))
    cube = [node("Pow", ["x", "three"], ["c"], name="cube")]
    product = [node("Mul", ["x", "x"], ["q"], name="square"), node("Mul", ["q", "x"], ["c"], name="cube")]
    for title, first in (("GELU by tanh", cube), ("GELU by tanh and products", product)):
        nodes = first + [
            node("Mul", ["c", "k"], ["d"], name="a"), node("Add", ["x", "d"], ["i"], name="b"),
            node("Mul", ["i", "r"], ["j"], name="c"), node("Tanh", ["j"], ["t"], name="d"),
            node("Add", ["t", "one"], ["s"], name="e"), node("Mul", ["x", "s"], ["p"], name="f"),
            node("Mul", ["p", "half"], ["y"]),
        ]  # fmt: skip
        constants = {
            "three": number(3), "k": number(0.044715), "r": number(math.sqrt(2 / math.pi)),
            "one": number(1), "half": number(0.5),
        }  # fmt: skip
        yield title, nodes, constants, lambda x: (
            0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
        )
    yield "Mish", [
        node("Softplus", ["x"], ["p"], name="a"), node("Tanh", ["p"], ["t"], name="b"),
        node("Mul", ["x", "t"], ["y"]),
    ], {}, lambda x: x * np.tanh(np.log1p(np.exp(x)))  # fmt: skip
    yield "HardSwish", [
        node("Add", ["x", "three"], ["a"], name="a"), node("Clip", ["a", "zero", "six"], ["b"], name="b"),
        node("Div", ["b", "six"], ["c"], name="c"), node("Mul", ["x", "c"], ["y"]),
    ], {"three": number(3), "zero": number(0), "six": number(6)}, (
        lambda x: x * np.clip(x + 3, 0, 6) / 6
    )  # fmt: skip
    yield "SiLU by division", [
        node("Neg", ["x"], ["n"], name="a"), node("Exp", ["n"], ["e"], name="b"),
        node("Add", ["e", "one"], ["d"], name="c"), node("Div", ["x", "d"], ["y"]),
    ], {"one": number(1)}, lambda x: x / (1 + np.exp(-x))  # fmt: skip
    yield "square", node("Pow", ["x", "two"], ["y"]), {"two": number(2)}, lambda x: x**2
    yield "power of a number", node("Pow", ["two", "x"], ["y"]), {"two": number(2)}, lambda x: 2.0**x
    yield "product with itself", node("Mul", ["x", "x"], ["y"]), {}, lambda x: x * x
    yield "bound from below", node("Max", ["x", "c"], ["y"]), {"c": number(-0.5)}, (
        lambda x: np.maximum(x, -0.5)
    )
    yield "one slope", node("PRelu", ["x", "c"], ["y"]), {"c": np.float32([0.25])}, (
        lambda x: np.where(x < 0, x * 0.25, x)
    )
    yield "number by a tensor", [
        node("Exp", ["x"], ["e"], name="a"), node("Add", ["e", "one"], ["d"], name="b"),
        node("Div", ["one", "d"], ["y"]),
    ], {"one": number(1)}, lambda x: 1 / (np.exp(x) + 1)  # fmt: skip
