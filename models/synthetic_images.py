#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Images without a camera: what calibrates the generated networks and what tests send through."""

import argparse

import numpy as np


def synthetic_images(count, height, width, random):
    """Returns float32 (count, 3, height, width): smooth shapes, edges and a little noise.

    Each channel is normalised to mean 0 and deviation 1 over the image.
    """
    rows, columns = np.mgrid[0:height, 0:width].astype(np.float32)
    rows, columns = rows / height, columns / width
    images = np.empty((count, 3, height, width), np.float32)
    for image in images:
        image[:] = random.normal(0, 0.15, image.shape)
        for _ in range(12):
            y, x = random.uniform(0, 1, 2)
            half_y, half_x = random.uniform(0.03, 0.3, 2)
            colour = random.normal(0, 1, (3, 1, 1))
            distance = ((rows - y) / half_y) ** 2 + ((columns - x) / half_x) ** 2
            soft = random.uniform() < 0.5
            image += colour * (np.exp(-distance) if soft else distance < 1)
        image -= image.mean(axis=(1, 2), keepdims=True)
        image /= image.std(axis=(1, 2), keepdims=True)
    return images


def main():
    parser = argparse.ArgumentParser(description="Writes synthetic images, float32, N x 3 x H x W.")
    parser.add_argument("output", metavar="FILE.npy")
    parser.add_argument("--input", default="224x224", metavar="HEIGHTxWIDTH")
    parser.add_argument("--count", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    height, width = map(int, options.input.split("x"))
    images = synthetic_images(options.count, height, width, np.random.default_rng(options.seed))
    np.save(options.output, images)


if __name__ == "__main__":
    main()
