# SPDX-License-Identifier: MIT
"""Pictures of one object before a background, rendered from seeds, with the object's mask."""

import numpy as np

SIZE = 1024


def _smooth(random, cells):
    """Returns a field of soft spots between 0 and 1."""
    coarse = random.random((cells + 1, cells + 1))
    at = np.linspace(0, cells, SIZE, endpoint=False)
    low = at.astype(int)
    part = (at - low)[:, None]
    rows = coarse[low] * (1 - part) + coarse[low + 1] * part
    return rows[:, low] * (1 - part.T) + rows[:, low + 1] * part.T


def _ellipse(y, x, centre, radii):
    return ((y - centre[0]) / radii[0]) ** 2 + ((x - centre[1]) / radii[1]) ** 2


def picture(random):
    """Draws a vessel with a neck, a foot and a handle: pixels (height x width x 3) and mask."""
    y, x = np.mgrid[0:SIZE, 0:SIZE] / SIZE
    middle = random.uniform(0.42, 0.58)
    width, height = random.uniform(0.13, 0.2), random.uniform(0.17, 0.23)
    belly = _ellipse(y, x, (0.55, middle), (height, width))
    side = random.choice([-1, 1])
    handle = _ellipse(y, x, (0.5, middle + side * width), (height * 0.55, width * 0.6))
    neck = (np.abs(x - middle) < width * 0.4) & (y > 0.28) & (y < 0.5)
    foot = (np.abs(x - middle) < width * 0.65) & (y > 0.55 + height * 0.85) & (y < 0.6 + height)
    mask = (belly < 1) | neck | foot | ((handle < 1) & (handle > 0.55))
    # The vessel is lit from one side, and darker towards the outline.
    light = np.clip(0.55 + (x - middle) * random.uniform(-2.0, 2.0) + 0.35 * (1 - belly), 0.15, 1.1)
    paint = random.uniform(0.2, 0.95, 3) * (0.85 + 0.15 * _smooth(random, 24)[..., None])
    wall = random.uniform(0.45, 0.9, 3) * (0.85 + 0.15 * _smooth(random, 6)[..., None])
    table = random.uniform(0.25, 0.6, 3) * (0.8 + 0.2 * _smooth(random, 40)[..., None])
    ground = np.where((y > 0.7)[..., None], table, wall)
    shadow = _ellipse(y, x, (0.6 + height, middle), (0.05, width * 1.3))
    ground = ground * np.clip(0.55 + 0.45 * shadow, 0.55, 1)[..., None]
    pixels = np.where(mask[..., None], paint * light[..., None], ground) * 255
    return np.clip(pixels + random.normal(0, 3, pixels.shape), 0, 255).astype(np.uint8), mask


def tensor(pixels):
    """Scales pixels as the networks of background removal were trained."""
    return ((pixels.transpose(2, 0, 1) - 128.0) / 256.0).astype(np.float32)


def samples(count, seed):
    drawn = [picture(np.random.default_rng([seed, index])) for index in range(count)]
    return np.stack([tensor(pixels) for pixels, _ in drawn]), np.stack([mask for _, mask in drawn])


def overlap(outputs, masks):
    """Returns the mean intersection over union of mask and object."""
    found = outputs.reshape(masks.shape) > 0.5
    return float(np.mean([(f & m).sum() / max(1, (f | m).sum()) for f, m in zip(found, masks)]))
