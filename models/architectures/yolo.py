# SPDX-License-Identifier: MIT
"""A one-stage detector in the shape of YOLOv5n: cross-stage partial blocks, a pyramid of pools, a
neck that goes down and up again by nearest resizing and Concat, three heads of raw scores; SiLU.

With width 16: 1,872,157 parameters, as published (before folding batch normalisations), whatever the
image's size.
"""

import numpy as np

ANCHORS = 3
CLASSES = 80


def _convolve(network, name, source, channels, kernel, stride=1, **options):
    return network.convolve(
        name, source, channels, kernel, stride=stride, activation="Silu", **options
    )


def _cross_stage(network, name, source, channels, blocks, adds):
    """Half of the channels goes through `blocks` bottlenecks, half past them."""
    half = channels // 2
    x = _convolve(network, name + "_through", source, half, 1)
    for block in range(blocks):
        y = _convolve(network, f"{name}_{block}_first", x, half, 1)
        y = _convolve(network, f"{name}_{block}_second", y, half, 3)
        x = network.graph.add(f"{name}_{block}_add", "Add", [x, y]) if adds else y
    past = _convolve(network, name + "_past", source, half, 1)
    x = network.concatenate(name + "_concat", [x, past])
    return _convolve(network, name, x, channels, 1)


def _pool_pyramid(network, name, source):
    """What three 5x5 pools in a row see, beside what they pool."""
    channels = network.channels(source)
    levels = [_convolve(network, name + "_reduce", source, channels // 2, 1)]
    for level in range(3):
        pool = network.graph.add(
            f"{name}_pool{level}",
            "MaxPool",
            levels[-1:],
            kernel_shape=[5, 5],
            strides=[1, 1],
            pads=[2] * 4,
        )
        levels.append(pool)
    x = network.concatenate(name + "_concat", levels)
    return _convolve(network, name, x, channels, 1)


def _double(network, name, source):
    scales = np.array([1, 1, 2, 2], np.float32)
    return network.graph.add(
        name,
        "Resize",
        [source],
        [("region", np.zeros(0, np.float32)), ("scales", scales)],
        mode="nearest",
        coordinate_transformation_mode="asymmetric",
        nearest_mode="floor",
    )


def build(network, width):
    """Returns the scores at strides 8, 16 and 32. The stem has `width` channels."""
    x = _convolve(network, "stem", "image", width, 6, stride=2, padding=2)
    scales = []
    for level, blocks in enumerate((1, 2, 3, 1), start=1):
        channels = width << level
        x = _convolve(network, f"down{level}", x, channels, 3, stride=2)
        x = _cross_stage(network, f"stage{level}", x, channels, blocks, adds=True)
        scales.append(x)
    _, stride8, stride16, _ = scales

    lateral32 = _convolve(
        network, "lateral32", _pool_pyramid(network, "pyramid", x), 8 * width, 1
    )
    x = network.concatenate("up16_concat", [_double(network, "up16", lateral32), stride16])
    x = _cross_stage(network, "up16_stage", x, 8 * width, 1, adds=False)
    lateral16 = _convolve(network, "lateral16", x, 4 * width, 1)
    x = network.concatenate("up8_concat", [_double(network, "up8", lateral16), stride8])
    out8 = _cross_stage(network, "out8", x, 4 * width, 1, adds=False)
    x = _convolve(network, "down16", out8, 4 * width, 3, stride=2)
    x = network.concatenate("down16_concat", [x, lateral16])
    out16 = _cross_stage(network, "out16", x, 8 * width, 1, adds=False)
    x = _convolve(network, "down32", out16, 8 * width, 3, stride=2)
    x = network.concatenate("down32_concat", [x, lateral32])
    out32 = _cross_stage(network, "out32", x, 16 * width, 1, adds=False)

    channels = ANCHORS * (5 + CLASSES)
    return [
        network.score(f"scores{stride}", source, channels)
        for stride, source in ((8, out8), (16, out16), (32, out32))
    ]
