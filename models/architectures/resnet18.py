# SPDX-License-Identifier: MIT
"""ResNet-18: four stages of two residual blocks of two 3x3 convolutions, 1000 classes.

At 224 x 224 and width 64: 11,689,512 parameters and 1.814 G multiply-accumulates, as published.
"""

CLASSES = 1000


def _basic_block(network, name, source, channels, stride):
    """Two 3x3 and a shortcut, which is a strided 1x1 where the shape changes."""
    x = network.convolve(name + "_first", source, channels, 3, stride=stride)
    x = network.convolve(name + "_second", x, channels, 3, gain=0.5, activation=None)
    shortcut = source
    if stride != 1 or network.channels(source) != channels:
        shortcut = network.convolve(
            name + "_shortcut", source, channels, 1, stride=stride, activation=None
        )
    return network.merge(name + "_add", shortcut, x)


def build(network, width):
    """Returns the output tensor's name in a list. Stages have width x 1, 2, 4, 8 channels."""
    x = network.convolve("stem", "image", width, 7, stride=2)
    x = network.graph.add(
        "stem_pool", "MaxPool", [x], kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4
    )
    for stage in range(4):
        channels = width << stage
        x = _basic_block(network, f"stage{stage + 1}a", x, channels, 1 if stage == 0 else 2)
        x = _basic_block(network, f"stage{stage + 1}b", x, channels, 1)
    return [network.classify("logits", x, CLASSES)]
