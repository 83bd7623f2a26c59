#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Generates the networks: real graphs at real shapes with seeded random weights.

    generate.py KIND OUT.onnx [--input HEIGHTxWIDTH] [--width N] [--seed N] [--probes N]
                              [--samples FILE.npy] [--sample-count N]

KIND is one of

    resnet18     residual classifier, 224 x 224, 1000 classes
    mobilenetv2  inverted residuals with depthwise convolutions, 224 x 224, 1000 classes
    yolo         detector with three heads, nearest resizing, Concat and SiLU, 320 x 320
    unet         segmentation with ConvTranspose and Concat, 256 x 256
    vit          transformer on patches of 16 x 16, 224 x 224, 1000 classes
    detector     the demo's detector, 320 x 400
    large        the demo's large network: resnet18 at 296 x 296
    resnet101    residual classifier of 33 bottleneck blocks, 224 x 224, 1000 classes

Two numbers set the cost: --input (cost goes with the area; multiples of 32, of 16 for unet) and
--width (channels of the first stage, a multiple of 8; cost goes about with its square). Parameters
and multiply-accumulates are printed.

Weights and batch statistics: see seeded_network.py. --samples also writes synthetic images
(float32, N x 3 x H x W, about -2..2) for calibration. The same seed gives the same graph. Weights depend
on the last bits of products and on the signs of eigenvectors, which each BLAS and LAPACK has in its own way:
where Debian's reference libraries are installed (libblas3, liblapack3), numpy gets those, whatever
else the system has for libblas.so.3.
"""

import argparse
import dataclasses
import os
import pathlib
import sys

import numpy as np
import onnx

import seeded_network
from architectures import demo, mobilenetv2, resnet18, resnet101, unet, vit, yolo
from synthetic_images import synthetic_images

PROBE_STREAM, WEIGHT_STREAM, SAMPLE_STREAM = range(3)


@dataclasses.dataclass(frozen=True)
class Kind:
    build: object  # (network, width) -> names of the output tensors
    height: int
    image_width: int
    width: int
    # Images that weights and batch statistics come from. A small last map needs more of them.
    probes: int = 1


KINDS = {
    "detector": Kind(demo.build, 320, 400, 16, probes=4),
    "large": Kind(resnet18.build, 296, 296, 64, probes=2),
    "mobilenetv2": Kind(mobilenetv2.build, 224, 224, mobilenetv2.FULL_WIDTH, probes=16),
    "resnet18": Kind(resnet18.build, 224, 224, 64, probes=4),
    "resnet101": Kind(resnet101.build, 224, 224, 64, probes=4),
    "unet": Kind(unet.build, 256, 256, 32),
    "vit": Kind(vit.build, 224, 224, vit.FULL_WIDTH),
    "yolo": Kind(yolo.build, 320, 320, 16, probes=16),
}


def _begin_anew_with_reference_libraries():
    """Runs this program again with them in front; nothing where it has them or they are not installed."""
    found = [
        str(path.parent)
        for name in ("blas", "lapack")
        for path in sorted(pathlib.Path("/usr/lib").glob(f"*-linux-gnu/{name}/lib{name}.so.3"))
    ]
    given = os.environ.get("LD_LIBRARY_PATH", "").split(":")
    if len(found) < 2 or given[: len(found)] == found:
        return
    os.environ["LD_LIBRARY_PATH"] = ":".join([*found, *filter(None, given)])
    os.execv(sys.executable, sys.orig_argv)


def _size(text):
    height, _, width = text.partition("x")
    return int(height), int(width or height)


def main():
    _begin_anew_with_reference_libraries()
    parser = argparse.ArgumentParser(description="Generates networks with seeded weights.")
    parser.add_argument("kind", choices=sorted(KINDS))
    parser.add_argument("output")
    parser.add_argument("--input", type=_size, metavar="HEIGHTxWIDTH")
    parser.add_argument("--width", type=int, help="channels of the first stage, a multiple of 8")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--samples", metavar="FILE.npy", help="also write calibration images")
    parser.add_argument("--sample-count", type=int, default=4)
    parser.add_argument("--probes", type=int, help="images that weights and statistics come from")
    options = parser.parse_args()
    kind = KINDS[options.kind]
    size = options.input or (kind.height, kind.image_width)
    width = options.width or kind.width
    if width % 8 or width < 8 or min(size) < 32:
        parser.error("--width must be a multiple of 8, --input at least 32 x 32")
    granule = {"unet": 16, "vit": 16, "yolo": 32}.get(options.kind, 1)
    if any(length % granule for length in size):
        parser.error(f"--input of {options.kind} must be multiples of {granule}")

    streams = [np.random.default_rng([options.seed, purpose]) for purpose in range(3)]
    probe = synthetic_images(options.probes or kind.probes, *size, streams[PROBE_STREAM])
    network = seeded_network.SeededNetwork(options.kind, "image", probe, streams[WEIGHT_STREAM])
    model = network.graph.model(kind.build(network, width))
    onnx.save(model, options.output)
    if options.samples:
        images = synthetic_images(options.sample_count, *size, streams[SAMPLE_STREAM])
        np.save(options.samples, images)
    print(
        f"{options.output}: {size[0]} x {size[1]}, {network.graph.parameter_count:,} parameters, "
        f"{network.graph.mac_count:,} multiply-accumulates, {model.ByteSize() / 1e6:.1f} MB",
        file=sys.stderr,
    )


if __name__ == "__main__":
    main()
