# SPDX-License-Identifier: MIT
"""Faces, drawn from seeds: where the head, the eyes, the nose and the mouth are is known."""

from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

DRAWN_AT = 3  # times the picture's size, so that edges come out smooth


@dataclass(frozen=True)
class Person:
    """The features that do not change from picture to picture; lengths in half widths of the head."""

    skin: np.ndarray
    hair: np.ndarray
    iris: np.ndarray
    lips: np.ndarray
    long: float  # the head's height
    eyes: float  # their distance from the middle
    eye: float  # half of an eye's width
    brow: float  # the brows' thickness
    nose: float  # half the nose's width
    mouth: float  # half the mouth's width
    fringe: float  # how far hair comes down


def person(random):
    skins = np.array([(236, 196, 170), (224, 178, 146), (198, 146, 112), (150, 104, 76)], float)
    hairs = np.array([(40, 28, 22), (84, 56, 36), (150, 110, 60), (90, 90, 92)], float)
    skin = skins[random.integers(4)] * random.uniform(0.93, 1.05)
    return Person(
        skin, hairs[random.integers(4)] * random.uniform(0.8, 1.2), random.uniform(20, 110, 3),
        skin * (0.85, 0.55, 0.55), random.uniform(1.25, 1.4), random.uniform(0.38, 0.45),
        random.uniform(0.18, 0.23), random.uniform(0.06, 0.11), random.uniform(0.15, 0.22),
        random.uniform(0.28, 0.42), random.uniform(0.45, 0.7),
    )  # fmt: skip


@dataclass(frozen=True)
class Face:
    """One face in a picture, in pixels: its place, eyes and mouth."""

    person: Person
    middle: tuple  # x and y
    radius: float  # half the head's width
    roll: float  # degrees, clockwise
    is_open: bool = True  # whether the eyes are open
    mouth: float = 0.0  # how far open

    def at(self, x, y):
        """Returns where a place of the face (in half widths of the head, from the middle) lies in
        the picture."""
        cosine, sine = np.cos(np.deg2rad(self.roll)), np.sin(np.deg2rad(self.roll))
        across = self.middle[0] + self.radius * (x * cosine - y * sine)
        return across, self.middle[1] + self.radius * (x * sine + y * cosine)

    def points(self):
        """Returns left eye, right eye (as the picture shows them), tip of the nose, corners of the
        mouth."""
        who = self.person
        places = [(-who.eyes, -0.12), (who.eyes, -0.12), (0, 0.3), (-who.mouth, 0.68), (who.mouth, 0.68)]
        return np.array([self.at(*place) for place in places])

    def box(self):
        """Returns the box from above the brows to the chin, as detectors frame a face: left, top,
        right, bottom."""
        x, y = self.at(0, 0.28)
        return np.array([x - 0.95 * self.radius, y - 0.95 * self.radius,
                         x + 0.95 * self.radius, y + 0.95 * self.radius])  # fmt: skip


class _Canvas:
    """Draws shapes of one face."""

    def __init__(self, image, face):
        self._draw, self._face = ImageDraw.Draw(image), face

    def shape(self, places, colour):
        points = [tuple(DRAWN_AT * np.array(self._face.at(*place))) for place in places]
        self._draw.polygon(points, fill=_colour(colour))

    def ellipse(self, middle, radii, colour, start=0.0, end=360.0):
        angles = np.deg2rad(np.linspace(start, end, 48))
        self.shape(np.stack([np.cos(angles), np.sin(angles)], axis=1) * radii + middle, colour)


def _colour(colour):
    return tuple(int(part) for part in np.clip(colour, 0, 255))


def _head(canvas, who):
    canvas.ellipse((0, -0.2), (1.12, 1.2 * who.long - 0.2), who.hair, 170, 370)
    canvas.shape([(-0.45, 0.6), (0.45, 0.6), (0.5, 1.7), (-0.5, 1.7)], who.skin * 0.72)
    canvas.ellipse((0, 2.25), (1.7, 0.8), 255 - who.hair)
    for side in (-1, 1):
        canvas.ellipse((side * 0.98, 0.05), (0.13, 0.25), who.skin * 0.8)
    # The skin becomes lighter and lighter from the rim to the middle of the face.
    for part in np.linspace(0, 1, 12):
        size, shade = 1 - 0.62 * part, 0.78 + 0.24 * part
        canvas.ellipse((0.0, 0.05 * part), (0.97 * size, who.long * size), who.skin * shade)
    canvas.ellipse((0, -who.long * 0.62), (0.9, who.long * (1 - who.fringe)), who.hair, 180, 360)


def _eye(canvas, who, side, is_open):
    middle, wide = (side * who.eyes, -0.12), who.eye

    def spot(right, down, radii, colour, end=360.0):
        """Draws a spot; lengths are in half widths of the eye."""
        place = (middle[0] + wide * right, middle[1] + wide * down)
        canvas.ellipse(place, (wide * radii[0], wide * radii[1]), colour, 0, end)

    spot(0, 0, (1.45, 1.05), who.skin * 0.82)
    spot(0, -0.1, (1.3, 0.8), who.skin * 0.92)
    if is_open:
        spot(0, 0, (1.08, 0.62), who.skin * 0.35)
        spot(0, 0.06, (1, 0.5), np.array([235, 232, 228]))
        spot(0, 0, (0.48, 0.5), who.iris)
        spot(0, 0, (0.22, 0.24), np.array([8, 8, 8]))
        spot(0.15, -0.15, (0.09, 0.09), np.array([250, 250, 250]))
    else:
        spot(0, 0.2, (1, 0.2), who.skin * 0.4, 180)
    brow = (side * (who.eyes + 0.02), -0.4)
    canvas.ellipse(brow, (wide * 1.5, who.brow * 1.6), who.hair * 0.85, 180, 360)


def _middle(canvas, who, is_dark_left):
    dark = -1 if is_dark_left else 1
    canvas.shape([(0, -0.15), (dark * 0.07, -0.1), (dark * who.nose, 0.36), (0, 0.38)], who.skin * 0.86)
    canvas.shape([(-0.03, -0.1), (0.03, -0.1), (0.06, 0.3), (-0.06, 0.3)], who.skin * 1.08)
    canvas.ellipse((0, 0.33), (who.nose, 0.1), who.skin * 0.93)
    for side in (-1, 1):
        canvas.ellipse((side * who.nose * 0.55, 0.39), (0.055, 0.03), who.skin * 0.35)
    canvas.ellipse((0, 0.5), (0.05, 0.08), who.skin * 0.92)


def _mouth(canvas, who, opened):
    canvas.ellipse((0, 0.68), (who.mouth, 0.09 + 0.15 * opened), who.lips * 0.9, 180, 360)
    canvas.ellipse((0, 0.68), (who.mouth, 0.13 + 0.25 * opened), who.lips, 0, 180)
    canvas.ellipse((0, 0.68), (who.mouth * 0.9, 0.02 + 0.16 * opened), (60, 15, 18))
    canvas.ellipse((0, 0.95), (who.mouth * 0.7, 0.04), who.skin * 0.84)


def draw(image, face, random):
    """Draws the face onto an image that is DRAWN_AT times as large as the picture."""
    canvas, who = _Canvas(image, face), face.person
    _head(canvas, who)
    for side in (-1, 1):
        _eye(canvas, who, side, face.is_open)
    _middle(canvas, who, random.random() < 0.5)
    _mouth(canvas, who, face.mouth)


def background(width, height, random):
    coarse = random.uniform(60, 220, (5, 6, 3)).astype(np.uint8)
    return Image.fromarray(coarse).resize((width * DRAWN_AT, height * DRAWN_AT), Image.BICUBIC)


def picture(width, height, faces_, random):
    """Returns pixels: height x width x 3, red, green, blue, 0..255."""
    image = background(width, height, random)
    for face in faces_:
        draw(image, face, random)
    smooth = image.filter(ImageFilter.GaussianBlur(DRAWN_AT * 0.012 * max(f.radius for f in faces_)))
    pixels = np.asarray(smooth.resize((width, height), Image.BOX)).astype(np.float32)
    return np.clip(pixels + random.normal(0, 2.5, pixels.shape), 0, 255).astype(np.float32)
