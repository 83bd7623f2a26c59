# SPDX-License-Identifier: MIT
"""ResNet-101: 33 bottleneck blocks in four stages of 3, 4, 23 and 3, 1000 classes.

At 224 x 224 and width 64: 44,549,160 parameters and 7.8 G multiply-accumulates, as published.
"""

CLASSES = 1000
BLOCKS = (3, 4, 23, 3)
EXPANSION = 4


def _bottleneck(network, name, source, channels, stride):
    """1x1, 3x3 and 1x1 to EXPANSION times the channels, and a shortcut, a 1x1 where the shape changes."""
    x = network.convolve(name + "_reduce", source, channels, 1)
    x = network.convolve(name + "_middle", x, channels, 3, stride=stride)
    x = network.convolve(name + "_expand", x, EXPANSION * channels, 1, gain=0.25, activation=None)
    shortcut = source
    if stride != 1 or network.channels(source) != EXPANSION * channels:
        shortcut = network.convolve(
            name + "_shortcut", source, EXPANSION * channels, 1, stride=stride, activation=None
        )
    return network.merge(name + "_add", shortcut, x)


def build(network, width):
    """Returns the output tensor's name in a list. Stages have width x 4, 8, 16, 32 channels."""
    x = network.convolve("stem", "image", width, 7, stride=2)
    x = network.graph.add(
        "stem_pool", "MaxPool", [x], kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4
    )
    for stage, count in enumerate(BLOCKS):
        for block in range(count):
            stride = 2 if stage > 0 and block == 0 else 1
            x = _bottleneck(network, f"stage{stage + 1}_{block + 1}", x, width << stage, stride)
    return [network.classify("logits", x, CLASSES)]
