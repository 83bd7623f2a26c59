# SPDX-License-Identifier: MIT
"""MobileNetV2: inverted residuals of a 1x1, a depthwise 3x3 and a linear 1x1; ReLU6, 1000 classes.

At 224 x 224 and width 32 (multiplier 1.0): 3,504,872 parameters and 0.301 G multiply-accumulates, as
published.
"""

CLASSES = 1000
FULL_WIDTH = 32
HEAD_CHANNELS = 1280
# expansion, channels, blocks, stride of the first block
STAGES = [
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
]


def _scaled(channels, width):
    """`channels` times width / FULL_WIDTH, a multiple of 8 not over a tenth below."""
    wanted = channels * width / FULL_WIDTH
    rounded = max(8, int(wanted + 4) // 8 * 8)
    return rounded + 8 if rounded < 0.9 * wanted else rounded


def _inverted_residual(network, name, source, expansion, channels, stride):
    x = source
    inputs = network.channels(source)
    hidden = inputs * expansion
    if expansion != 1:
        x = network.convolve(name + "_expand", x, hidden, 1, activation="Clip")
    x = network.convolve(
        name + "_depthwise", x, hidden, 3, stride=stride, group=hidden, activation="Clip"
    )
    adds = stride == 1 and inputs == channels
    x = network.convolve(
        name + "_project", x, channels, 1, gain=0.5 if adds else 1.0, activation=None
    )
    return network.graph.add(name + "_add", "Add", [source, x]) if adds else x


def build(network, width):
    """Returns the output tensor's name in a list. The stem has `width` channels."""
    x = network.convolve("stem", "image", width, 3, stride=2, activation="Clip")
    number = 0
    for expansion, channels, blocks, stride in STAGES:
        for block in range(blocks):
            number += 1
            x = _inverted_residual(
                network,
                f"block{number}",
                x,
                expansion,
                _scaled(channels, width),
                stride if block == 0 else 1,
            )
    head = _scaled(HEAD_CHANNELS, max(width, FULL_WIDTH))
    x = network.convolve("head", x, head, 1, activation="Clip")
    return [network.classify("logits", x, CLASSES)]
