# SPDX-License-Identifier: MIT
"""Warped letters to read, and pictures with letters to find, rendered from seeds."""

import json

import numpy as np
from PIL import Image, ImageDraw

import pages
from text_tasks import distance

WIDTH, HEIGHT = 160, 64  # the size of pictures with letters to read
SIZE = 416  # the size of pictures in which letters are to be found
LETTERS = "abcdefghjkmnpqrstuvwxy23456789"
STRIDES = (8, 16, 32)  # of the finder's grids
FOUND, SAME_BOX = 0.1, 0.45  # the least score; two boxes that overlap by this are the same


def _waves(pixels, random):
    """Moves rows and columns along two waves."""
    height, width = pixels.shape[:2]
    y, x = np.mgrid[0:height, 0:width]
    across, down = random.uniform(1, 3, 2)
    x = x + across * np.sin(2 * np.pi * (y / height + random.random()))
    y = y + down * np.sin(2 * np.pi * (x / width * 2 + random.random()))
    return pixels[np.clip(y, 0, height - 1).astype(int), np.clip(x, 0, width - 1).astype(int)]


def letters(random):
    """Returns one picture (height x width, bytes) and its letters."""
    text = "".join(random.choice(list(LETTERS), random.integers(4, 6)))
    image = Image.new("L", (WIDTH, HEIGHT), int(random.integers(210, 256)))
    draw = ImageDraw.Draw(image)
    step = (WIDTH - 16) / len(text)
    for place, letter in enumerate(text):
        face = pages.font(random, int(random.integers(34, 42)))
        top = int(random.integers(4, 16))
        draw.text((8 + int(place * step), top), letter, fill=int(random.integers(0, 100)), font=face)
    for _ in range(2):
        ends = [(0, int(random.integers(HEIGHT))), (WIDTH, int(random.integers(HEIGHT)))]
        draw.line(ends, fill=int(random.integers(90, 170)), width=1)
    pixels = _waves(np.asarray(image), random)
    noise = random.normal(0, 6, pixels.shape)
    return np.clip(pixels + noise, 0, 255).astype(np.uint8), text


def reading_samples(count, seed):
    drawn = [letters(np.random.default_rng([seed, 31, index])) for index in range(count)]
    tensors = np.stack([pixels for pixels, _ in drawn]).astype(np.float32)
    return ((tensors / 255 - 0.5) / 0.5)[:, None], [text for _, text in drawn]


def alphabet(path):
    return json.loads(path.read_text(encoding="utf-8"))


def read(chances, characters):
    """Returns the text with the greatest chances: repetitions count once, and character 0 separates
    letters."""
    places = chances.argmax(axis=-1)
    kept = [p for p, before in zip(places, [0, *places[:-1]]) if p not in (0, before)]
    return "".join(characters[place] for place in kept).lower()


def reading_score(outputs, texts, characters):
    """Returns the share of characters that are read, by edit distance."""
    wrong = sum(distance(read(row, characters), text)
                for row, text in zip(outputs.reshape(len(texts), -1, len(characters)), texts))  # fmt: skip
    return 1 - wrong / sum(map(len, texts))


def scene(random):
    """Returns a picture (blue, green, red; 0..255) of soft colours with letters, and their
    boxes."""
    coarse = random.uniform(60, 230, (6, 6, 3)).astype(np.uint8)
    image = Image.fromarray(coarse).resize((SIZE, SIZE), Image.BICUBIC)
    draw = ImageDraw.Draw(image)
    boxes = []
    for place in random.permutation(9)[: random.integers(3, 7)]:
        face = pages.font(random, int(random.integers(60, 90)))
        corner = np.array([place % 3, place // 3]) * 135 + random.integers(5, 40, 2)
        letter = LETTERS[random.integers(len(LETTERS))].upper()
        colour = tuple(int(part) for part in random.integers(0, 2, 3) * 255)
        draw.text(tuple(map(int, corner)), letter, fill=colour, font=face)
        boxes.append(draw.textbbox(tuple(map(int, corner)), letter, font=face))
    pixels = np.asarray(image).astype(np.float32) + random.normal(0, 4, (SIZE, SIZE, 3))
    return np.clip(pixels, 0, 255).transpose(2, 0, 1)[::-1].astype(np.float32), np.array(boxes)


def finding_samples(count, seed):
    drawn = [scene(np.random.default_rng([seed, 32, index])) for index in range(count)]
    return np.stack([pixels for pixels, _ in drawn]), [boxes for _, boxes in drawn]


def overlaps(box, others):
    """Returns the intersection over union of one box (left, top, right, bottom) and each of the
    others."""
    low, high = np.maximum(box[:2], others[:, :2]), np.minimum(box[2:], others[:, 2:])
    common = np.prod(np.clip(high - low, 0, None), axis=1)

    def areas(boxes):
        return np.prod(boxes[..., 2:] - boxes[..., :2], axis=-1)

    return common / (areas(box) + areas(others) - common)


def boxes_of(output):
    """Returns boxes of one picture: the grids' cells hold centre, size, and two chances."""
    cells = [np.mgrid[0 : SIZE // s, 0 : SIZE // s][::-1].reshape(2, -1).T for s in STRIDES]
    strides = np.repeat(STRIDES, [len(of) for of in cells])[:, None]
    centre = (output[:, :2] + np.concatenate(cells)) * strides
    size = np.exp(np.clip(output[:, 2:4], None, 10)) * strides
    boxes = np.concatenate([centre - size / 2, centre + size / 2], axis=1)
    scores = output[:, 4] * output[:, 5]
    kept = []
    for index in np.argsort(-scores):
        if scores[index] < FOUND:
            break
        if not kept or overlaps(boxes[index], np.array(kept)).max() < SAME_BOX:
            kept.append(boxes[index])
    return np.array(kept).reshape(-1, 4)


def finding_score(outputs, wanted):
    """Returns the mean overlap of each letter's box with the found box that overlaps it most."""
    scores = []
    for output, boxes in zip(outputs.reshape(len(wanted), -1, 6), wanted):
        found = boxes_of(output)
        scores += [overlaps(box, found).max() if len(found) else 0 for box in boxes.astype(float)]
    return float(np.mean(scores))
