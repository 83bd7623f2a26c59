# SPDX-License-Identifier: MIT
"""RNN, GRU and LSTM as ONNX's text defines them, one sequence of the batch and one step at a time."""

import numpy as np


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


FUNCTIONS = {
    "Sigmoid": sigmoid,
    "Tanh": np.tanh,
    "Relu": lambda x: np.maximum(x, 0),
    "Softsign": lambda x: x / (1 + np.abs(x)),
    "Softplus": lambda x: np.logaddexp(0, x),
    "HardSigmoid": lambda x, alpha=0.2, beta=0.5: np.clip(alpha * x + beta, 0, 1),
    "LeakyRelu": lambda x, alpha=0.01: np.where(x < 0, alpha * x, x),
    "Elu": lambda x, alpha=1.0: np.where(x < 0, alpha * np.expm1(x), x),
}
USUAL = {"RNN": ["Tanh"], "GRU": ["Sigmoid", "Tanh"], "LSTM": ["Sigmoid", "Tanh", "Tanh"]}
GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}


def _rnn(f, x, h, c, w, r, bias, p, options):
    wb, rb = bias
    return f[0](w @ x + r @ h + wb + rb), c


def _gru(f, x, h, c, w, r, bias, p, options):
    size = len(h)
    (wz, wr, wh), (rz, rr, rh) = (np.split(m, 3) for m in (w, r))
    (wbz, wbr, wbh), (rbz, rbr, rbh) = (np.split(m, 3) for m in bias)
    z = f[0](wz @ x + rz @ h + wbz + rbz)
    reset = f[0](wr @ x + rr @ h + wbr + rbr)
    if options["linear_before_reset"]:
        hidden = f[1](wh @ x + reset * (rh @ h + rbh) + wbh)
    else:
        hidden = f[1](wh @ x + rh @ (reset * h) + rbh + wbh)
    assert size == len(z)
    return (1 - z) * hidden + z * h, c


def _lstm(f, x, h, c, w, r, bias, p, options):
    wb, rb = bias
    i, o, forget, cell = np.split(w @ x + r @ h + wb + rb, 4)
    pi, po, pf = np.split(p, 3)
    i = f[0](i + pi * c)
    forget = 1 - i if options["input_forget"] else f[0](forget + pf * c)
    c = forget * c + i * f[1](cell)
    return f[0](o + po * c) * f[2](c), c


CELLS = {"RNN": _rnn, "GRU": _gru, "LSTM": _lstm}


def recurrence(kind, x, w, r, bias=None, lengths=None, state=None, cell=None, peepholes=None, *,
               reverse=(False,), functions=None, clip=0.0, linear_before_reset=0, input_forget=0):
    """`x` is (steps, batch, features), and weights are by direction; `reverse` has one for each
    direction, and `functions` the functions of all. Returns Y (steps, directions, batch, hidden),
    and the last states and cells (directions, batch, hidden)."""
    steps, batch, _ = x.shape
    directions, _, hidden = r.shape
    count = len(USUAL[kind])
    functions = functions or [FUNCTIONS[name] for name in USUAL[kind]] * directions
    bound = (lambda v: np.clip(v, -clip, clip)) if clip else (lambda v: v)
    options = {"linear_before_reset": linear_before_reset, "input_forget": input_forget}
    y = np.zeros((steps, directions, batch, hidden))
    last, cells = np.zeros((2, directions, batch, hidden))
    for direction, b in np.ndindex(directions, batch):
        gate = functions[direction * count : (direction + 1) * count]
        # An LSTM applies its last function to cells, which nothing bounds.
        bounded = [lambda v, g=g, n=n: g(v if (kind, n) == ("LSTM", 2) else bound(v)) for n, g in enumerate(gate)]
        h = np.zeros(hidden) if state is None else state[direction, b].astype(np.float64)
        c = np.zeros(hidden) if cell is None else cell[direction, b].astype(np.float64)
        p = np.zeros(3 * hidden) if peepholes is None else peepholes[direction]
        both = np.zeros((2, w.shape[1])) if bias is None else bias[direction].reshape(2, -1)
        length = steps if lengths is None else int(lengths[b])
        for step in range(length):
            t = length - 1 - step if reverse[direction] else step
            h, c = CELLS[kind](bounded, x[t, b], h, c, w[direction], r[direction], both, p, options)
            y[t, direction, b] = h
        last[direction, b], cells[direction, b] = h, c
    return y, last, cells
