# SPDX-License-Identifier: MIT
"""Renders the glyph data set: hexadecimal digits in Debian's fonts, shifted, turned and noisy.

An image is 24 x 24 grey levels (uint8, 0 is black). The fonts of the held-out set are not among
those trained on.
"""

import math

import numpy as np
from PIL import Image, ImageDraw, ImageFont

CLASSES = "0123456789ABCDEF"
SIZE = 24  # pixels, height and width
_OVERSAMPLING = 2
_MASTER_SIZE = SIZE * _OVERSAMPLING
_CAP_HEIGHT = 34  # pixels of a digit's height on the master canvas

_FONTS = "/usr/share/fonts/truetype/"
TRAINING_FONTS = [
    "dejavu/DejaVuSans.ttf",
    "dejavu/DejaVuSans-Bold.ttf",
    "dejavu/DejaVuSansMono.ttf",
    "dejavu/DejaVuSerif.ttf",
    "liberation/LiberationMono-Italic.ttf",
    "liberation/LiberationMono-Regular.ttf",
    "liberation/LiberationSans-Bold.ttf",
    "liberation/LiberationSans-Italic.ttf",
    "liberation/LiberationSans-Regular.ttf",
    "liberation/LiberationSerif-Bold.ttf",
    "liberation/LiberationSerif-Regular.ttf",
]
HELD_OUT_FONTS = [
    "dejavu/DejaVuSansMono-Bold.ttf",
    "dejavu/DejaVuSerif-Bold.ttf",
    "liberation/LiberationMono-Bold.ttf",
    "liberation/LiberationSans-BoldItalic.ttf",
    "liberation/LiberationSerif-Italic.ttf",
]


def _master(font_path, character):
    """Draws one character, centred, at twice the final size."""
    probe = ImageFont.truetype(font_path, 100)
    top, bottom = probe.getbbox("8")[1::2]
    font = ImageFont.truetype(font_path, round(100 * _CAP_HEIGHT / (bottom - top)))
    image = Image.new("L", (_MASTER_SIZE, _MASTER_SIZE))
    centre = (_MASTER_SIZE / 2, _MASTER_SIZE / 2)
    left, upper, right, lower = font.getbbox(character)
    position = (centre[0] - (left + right) / 2, centre[1] - (upper + lower) / 2)
    ImageDraw.Draw(image).text(position, character, fill=255, font=font)
    return image


def masters(fonts):
    """Returns one undistorted image per font and class: a list (fonts) of lists (classes)."""
    return [[_master(_FONTS + font, character) for character in CLASSES] for font in fonts]


def _distort(image, random):
    """Returns a float32 array (SIZE, SIZE) in 0..1: one random view of a master image."""
    angle = math.radians(random.uniform(-12, 12))
    shear = random.uniform(-0.15, 0.15)
    zoom_x, zoom_y = 1 / random.uniform(0.8, 1.15, 2)
    shift_x, shift_y = random.uniform(-2.5, 2.5, 2) * _OVERSAMPLING
    a, b = zoom_x * math.cos(angle), zoom_x * (math.sin(angle) + shear)
    d, e = -zoom_y * math.sin(angle), zoom_y * math.cos(angle)
    middle = _MASTER_SIZE / 2
    c = middle - a * (middle + shift_x) - b * (middle + shift_y)
    f = middle - d * (middle + shift_x) - e * (middle + shift_y)
    view = image.transform(image.size, Image.AFFINE, (a, b, c, d, e, f), Image.BILINEAR)
    return np.asarray(view.reduce(_OVERSAMPLING), np.float32) / np.float32(255)


def render(image_masters, samples_each, random):
    """Renders `samples_each` images of every font and class.

    Returns (images, labels) in random order: uint8 (N, 1, SIZE, SIZE) and uint8 (N).
    """
    images, labels = [], []
    for font_masters in image_masters:
        for label, master in enumerate(font_masters):
            for _ in range(samples_each):
                ink, paper = random.uniform(0.45, 1.0), random.uniform(0.0, 0.25)
                noise = random.normal(0, random.uniform(0.02, 0.14), (SIZE, SIZE))
                images.append(paper + (ink - paper) * _distort(master, random) + noise)
                labels.append(label)
    order = random.permutation(len(images))
    pixels = np.clip(np.rint(np.asarray(images)[order] * 255), 0, 255).astype(np.uint8)
    return pixels[:, np.newaxis], np.asarray(labels, np.uint8)[order]
