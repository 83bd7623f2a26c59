# SPDX-License-Identifier: MIT
"""A U-Net for binary segmentation: four halvings, four ConvTransposes, a Concat with what was seen on
the way down at each level; the output is one probability for each pixel.

With width 32: 7,763,041 parameters, as published for the network of this shape.
"""

LEVELS = 4


def _double_convolve(network, name, source, channels):
    x = network.convolve(name + "_first", source, channels, 3)
    return network.convolve(name + "_second", x, channels, 3)


def build(network, width):
    """Returns the output tensor's name in a list. Levels have width x 1, 2, 4, 8, 16 channels."""
    x = "image"
    seen = []
    for level in range(LEVELS):
        x = _double_convolve(network, f"encode{level}", x, width << level)
        seen.append(x)
        x = network.graph.add(
            f"pool{level}", "MaxPool", [x], kernel_shape=[2, 2], strides=[2, 2]
        )
    x = _double_convolve(network, "bottom", x, width << LEVELS)
    for level in reversed(range(LEVELS)):
        channels = width << level
        x = network.upsample_by_convolution(f"up{level}", x, channels)
        x = network.concatenate(f"concat{level}", [x, seen[level]])
        x = _double_convolve(network, f"decode{level}", x, channels)
    x = network.score("mask_score", x, 1)
    return [network.activate("mask", x, "Sigmoid")]
