# SPDX-License-Identifier: MIT
"""The demo's detector: one stage in the manner of YOLO, cheap enough to run beside anything."""

SCORES = 16  # a cell: 4 of the box, 1 objectness, 11 classes


def _bottleneck(network, name, source):
    """1x1 to half the channels, 3x3 back, added to the source."""
    channels = network.channels(source)
    x = network.convolve(name + "_reduce", source, channels // 2, 1)
    x = network.convolve(name + "_expand", x, channels, 3, gain=0.5, activation=None)
    return network.merge(name + "_add", source, x)


def _depthwise_pair(network, name, source):
    """Depthwise 3x3 and pointwise 1x1, added to the source."""
    channels = network.channels(source)
    x = network.convolve(name + "_depthwise", source, channels, 3, group=channels, activation="Clip")
    x = network.convolve(name + "_pointwise", x, channels, 1, gain=0.5, activation=None)
    return network.merge(name + "_add", source, x)


def build(network, width):
    """Returns the output tensors. Strides 2, 4, 8, 16, 32 have width x 1, 2, 4, 8, 16 channels."""
    x = network.convolve("stem", "image", width, 3, stride=2)
    x = network.convolve("down1", x, 2 * width, 3, stride=2)
    x = _bottleneck(network, "stage1", x)
    scales = []
    for level, factor in ((2, 4), (3, 8), (4, 16)):
        x = network.convolve(f"down{level}", x, factor * width, 3, stride=2)
        x = _bottleneck(network, f"stage{level}a", x)
        x = _depthwise_pair(network, f"stage{level}b", x)
        scales.append(x)
    pooled = network.graph.add(
        "spatial_pool", "MaxPool", [x], kernel_shape=[5, 5], strides=[1, 1], pads=[2] * 4
    )
    scales[2] = network.merge("spatial_add", x, pooled)

    channels = 4 * width
    outputs, below = [], None
    for stride, scale in zip((8, 16, 32), scales):
        x = network.convolve(f"lateral{stride}", scale, channels, 1)
        if below is not None:
            step = network.convolve(f"neck{stride}", below, channels, 3, stride=2, group=2)
            x = network.merge(f"neck{stride}_add", x, step)
        feature = network.convolve(f"scores{stride}_feature", x, channels, 3)
        outputs.append(network.score(f"scores{stride}", feature, SCORES))
        below = x
    return outputs
