# SPDX-License-Identifier: MIT
"""Rooms in perspective, rendered from seeds, and the line segments that a network finds in them."""

import numpy as np
from PIL import Image, ImageDraw

DRAWN_AT = 4  # times the picture's size, so that edges come out smooth
FOUND = 0.1  # the least score of a segment
SHORTEST = 20 / 512  # the shortest segment, as a part of the picture's width
NEAR = 0.02  # how far both ends of a segment may be off, as a part of the picture's width


def _rectangle(corners, low, high):
    """Returns four points inside a quadrilateral, at these parts of its width and height."""
    top_left, top_right, bottom_right, bottom_left = corners

    def at(x, y):
        top = top_left + (top_right - top_left) * x
        bottom = bottom_left + (bottom_right - bottom_left) * x
        return top + (bottom - top) * y

    return [at(low[0], low[1]), at(high[0], low[1]), at(high[0], high[1]), at(low[0], high[1])]


def _sides(points):
    return [(points[i], points[(i + 1) % len(points)]) for i in range(len(points))]


def room(random):
    """Returns quadrilaterals (four corners and a colour) from the back to the front, and the
    segments between them; the picture's width is 1."""
    left, right = random.uniform(0.2, 0.35), random.uniform(0.65, 0.8)
    top, bottom = random.uniform(0.2, 0.32), random.uniform(0.62, 0.75)
    back = [np.array(point) for point in [(left, top), (right, top), (right, bottom), (left, bottom)]]
    out = [np.array(point) for point in [(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0)]]
    paint = random.uniform(120, 240, 3)
    shades = random.permutation([0.95, 0.8, 0.68, 0.55, 1.05])
    surfaces = [(back, paint * shades[0])]
    for index, (one, other) in enumerate(_sides(range(4))):
        surfaces.append(([back[one], back[other], out[other], out[one]], paint * shades[index + 1]))
    segments = _sides(back) + list(zip(back, out))
    left_wall, right_wall = [out[0], back[0], back[3], out[3]], [back[1], out[1], out[2], back[2]]
    # The room has a door to the floor, windows and pictures.
    things = [
        _rectangle(back, (random.uniform(0.08, 0.2), 0.35), (random.uniform(0.3, 0.42), 1.0)),
        _rectangle(back, (random.uniform(0.52, 0.6), 0.2), (random.uniform(0.75, 0.92), 0.6)),
        _rectangle(left_wall, (0.35, random.uniform(0.25, 0.35)), (0.75, random.uniform(0.6, 0.7))),
        _rectangle(right_wall, (0.25, random.uniform(0.25, 0.35)), (0.65, random.uniform(0.6, 0.7))),
    ]
    for corners in things:
        dark = random.random() < 0.6
        surfaces.append((corners, random.uniform(10, 70, 3) if dark else random.uniform(245, 255, 3)))
        segments += _sides(corners)
    return surfaces, np.array(segments).reshape(-1, 4)


def picture(size, random):
    """Returns pixels (size x size x 4: red, green, blue of 0..255, and 1) and the segments in
    them."""
    surfaces, segments = room(random)
    whole = size * DRAWN_AT
    image = Image.new("RGB", (whole, whole))
    draw = ImageDraw.Draw(image)
    for corners, colour in surfaces:
        filled = tuple(int(part) for part in np.clip(colour, 0, 255))
        draw.polygon([tuple(corner * whole) for corner in corners], fill=filled)
    pixels = np.asarray(image.resize((size, size), Image.BOX)).astype(np.float32)
    pixels = np.clip(pixels + random.normal(0, 3, pixels.shape), 0, 255)
    return np.dstack([pixels, np.ones((size, size))]).astype(np.float32), segments


def samples(count, size, seed):
    drawn = [picture(size, np.random.default_rng([seed, 41, index])) for index in range(count)]
    return np.stack([pixels for pixels, _ in drawn]), [segments for _, segments in drawn]


def segments_of(scores, offsets):
    """Returns segments of one picture: each place with a score has the way to both ends."""
    size = scores.shape[0]
    found = np.argwhere(scores.reshape(size, size) >= FOUND)[:, ::-1]
    ends = (offsets.reshape(size, size, 4)[found[:, 1], found[:, 0]] + np.tile(found, 2)) / size
    length = np.linalg.norm(ends[:, :2] - ends[:, 2:], axis=1)
    return ends[length >= SHORTEST]


def distances(segments, others):
    """Returns for each pair of segments how far apart those two ends are that are further apart."""
    one, other = segments[:, None].reshape(-1, 1, 2, 2), others[None].reshape(1, -1, 2, 2)

    def apart(ends):
        return np.linalg.norm(one - ends, axis=-1).max(axis=-1)

    return np.minimum(apart(other), apart(other[:, :, ::-1]))


def score(scores, offsets, wanted):
    """Returns the harmonic mean of the share of drawn segments that are found and the share of
    found ones that are drawn."""
    drawn = matched = found = right = 0
    for index, segments in enumerate(wanted):
        ends = segments_of(scores[index].squeeze(), offsets[index].squeeze())
        near = distances(segments, ends) <= NEAR
        drawn, matched = drawn + len(segments), matched + near.any(axis=1).sum()
        found, right = found + len(ends), right + near.any(axis=0).sum()
    return float(2 * matched * right / max(1, matched * found + right * drawn))
