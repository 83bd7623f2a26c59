# SPDX-License-Identifier: MIT
"""Makes a failing network smaller, as long as it fails in the same way."""

import dataclasses

import numpy as np
import onnx
from onnx import TensorProto, helper

import float_reference
from graph_builder import gives_reals, remove_unused


def _copy(model):
    return onnx.ModelProto.FromString(model.SerializeToString())


def _shape(array, samples):
    return (array.shape[0] // samples, *array.shape[1:])


class _Candidates:
    """Cases a step simpler than a case, or None for one without nodes or inputs. cut_behind() and
    cut_before() yield small networks first."""

    def __init__(self, case):
        self._case = case
        model = case.model
        names = [name for node in model.graph.node if gives_reals(node) for name in node.output]
        self._samples = len(next(iter(case.samples.values())))
        self._values = float_reference.Network(model).run_images(case.samples, names)

    def _case_of(self, model, samples):
        remove_unused(model)
        used = {info.name: samples[info.name] for info in model.graph.input}
        if not model.graph.node or not used:
            return None
        return dataclasses.replace(self._case, model=model, samples=used)

    def _output(self, name):
        shape = _shape(self._values[name], self._samples)
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)

    def cut_behind(self):
        """Yields networks with one tensor as the only output."""
        for node in filter(gives_reals, self._case.model.graph.node):
            for name in node.output:
                model = _copy(self._case.model)
                del model.graph.output[:]
                model.graph.output.append(self._output(name))
                yield self._case_of(model, self._case.samples)

    def cut_before(self):
        """Yields networks with one tensor as an input, without the node that computed it."""
        for node in reversed(self._case.model.graph.node):
            if len(node.output) != 1 or not gives_reals(node):
                continue
            name = node.output[0]
            if self._values[name].shape[0] != self._samples:
                continue
            model = _copy(self._case.model)
            for index, other in enumerate(model.graph.node):
                if name in other.output:
                    del model.graph.node[index]
                    break
            if name in [output.name for output in model.graph.output]:
                continue
            model.graph.input.append(self._output(name))
            samples = {**self._case.samples, name: self._values[name].astype(np.float32)}
            yield self._case_of(model, samples)

    def bypass(self):
        """Yields networks without a node whose output has the shape of its input."""
        values = {**self._values, **self._case.samples}
        for node in self._case.model.graph.node:
            source, target = (*node.input[:1], node.output[0], "")[:2]
            if source not in values or target not in values:
                continue
            if values[source].shape != values[target].shape:
                continue
            model = _copy(self._case.model)
            if target in [output.name for output in model.graph.output]:
                continue
            for other in model.graph.node:
                for index, name in enumerate(other.input):
                    if name == target:
                        other.input[index] = source
            yield self._case_of(model, self._case.samples)

    def simpler(self):
        if self._case.limit_us:
            yield dataclasses.replace(self._case, limit_us=0)
        if self._case.options:
            yield dataclasses.replace(self._case, options=[])


def _size(case):
    graph = case.model.graph
    return len(graph.node) + len(graph.output) + len(case.options) + (case.limit_us > 0)


def shrink(case, why):
    """Returns the smallest case found, or `case` itself. `why(case)` returns the reason of the
    failure, or an empty text. A smaller case counts only if its reason has the same first word."""
    reason = why(case)
    kind = reason.split()[:1]
    if not reason:
        return case
    while True:
        candidates = _Candidates(case)
        for candidate in (
            *candidates.simpler(), *candidates.cut_behind(), *candidates.cut_before(),
            *candidates.bypass(),
        ):  # fmt: skip
            if candidate is None or _size(candidate) >= _size(case):
                continue
            if why(candidate).split()[:1] == kind:
                case = candidate
                break
        else:
            return case
