# SPDX-License-Identifier: MIT
"""Pictures of text, rendered from seeds: pages with lines in known places, and single lines."""

import pathlib
from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageDraw, ImageFont

FONTS = [
    "dejavu/DejaVuSans.ttf", "dejavu/DejaVuSans-Bold.ttf", "dejavu/DejaVuSerif.ttf",
    "dejavu/DejaVuSansMono.ttf", "liberation/LiberationSans-Regular.ttf",
    "liberation/LiberationSerif-Regular.ttf", "liberation/LiberationSans-Bold.ttf",
    "liberation/LiberationMono-Regular.ttf",
]  # fmt: skip
WORDS = (
    "arrival bridge castle daylight engine forest garden harbour island journey kitchen lantern "
    "market number orchard paper quarter river station timber umbrella valley window yellow "
    "Monday Friday April October North East Platform Exit Ticket Coffee Museum Library 1984 2026 "
    "12:45 360 007 15% 42 2.50"
).split()


@dataclass
class Line:
    """Words of a page, and the rectangle of their ink: left, top, right, bottom."""

    text: str
    box: tuple


def font(random, height):
    name = FONTS[random.integers(len(FONTS))]
    return ImageFont.truetype(str(pathlib.Path("/usr/share/fonts/truetype") / name), height)


def words(random, most_characters):
    text = WORDS[random.integers(len(WORDS))]
    while True:
        longer = f"{text} {WORDS[random.integers(len(WORDS))]}"
        if len(longer) > most_characters or random.random() < 0.25:
            return text
        text = longer


def _colours(random):
    """Returns the colours of paper and ink, far enough apart to read."""
    paper = random.integers(150, 256, 3)
    ink = random.integers(0, 90, 3)
    return (ink, paper) if random.random() < 0.25 else (paper, ink)


def page(width, height, random):
    """Returns a picture (height x width x 3, bytes) and its lines, which do not touch each
    other."""
    paper, ink = _colours(random)
    image = Image.new("RGB", (width, height), tuple(map(int, paper)))
    draw = ImageDraw.Draw(image)
    lines, top = [], int(random.integers(10, 40))
    while top < height - 60:
        size = int(random.integers(18, 36))
        face = font(random, size)
        text = words(random, 24)
        left, up, right, down = draw.textbbox((0, 0), text, font=face)
        if right - left <= width - 24:
            x = int(random.integers(10, width - (right - left) - 9)) - left
            draw.text((x, top - up), text, fill=tuple(map(int, ink)), font=face)
            lines.append(Line(text, (x + left, top, x + right, top + down - up)))
            top += down - up + int(random.integers(24, 60))
    return _noisy(np.asarray(image), random), lines


def line(random, most_characters=20):
    """Returns one line, 48 pixels high, as a recogniser gets it, and its text."""
    paper, ink = _colours(random)
    face = font(random, int(random.integers(26, 34)))
    text = words(random, most_characters)
    left, up, right, down = face.getbbox(text)
    image = Image.new("RGB", (right - left + 12, down - up + 10), tuple(map(int, paper)))
    draw = ImageDraw.Draw(image)
    draw.text((6 - left, 5 - up), text, fill=tuple(map(int, ink)), font=face)
    width = max(1, round(image.width * 48 / image.height))
    return _noisy(np.asarray(image.resize((width, 48), Image.BILINEAR)), random), text


def _noisy(pixels, random):
    noise = random.normal(0, random.uniform(0, 6), pixels.shape)
    return np.clip(pixels + noise, 0, 255).astype(np.uint8)
