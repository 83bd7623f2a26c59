# SPDX-License-Identifier: MIT
"""The tasks of networks that look at faces, on faces drawn from seeds: what each network gets, and
how well its outputs do its task."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from PIL import Image

import captchas
import faces

WIDTH, HEIGHT = 320, 240  # the size of pictures in which faces are looked for
IMAGENET_MEAN, IMAGENET_DEVIATION = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])
SURE, SAME_BOX = 0.5, 0.3  # the least chance of a face; the overlap of boxes that are one
# Where recognition expects eyes, tip of the nose and corners of the mouth in 112 x 112 pixels.
ALIGNED = np.array([(38.3, 51.7), (73.5, 51.5), (56.0, 71.7), (41.5, 92.4), (70.7, 92.2)])


def _face(random, who=None, middle=(WIDTH / 2, HEIGHT / 2), radius=60):
    return faces.Face(
        who or faces.person(random), middle, radius, random.uniform(-15, 15),
        bool(random.random() < 0.5), random.uniform(0, 0.6),
    )  # fmt: skip


def _drawn(count, seed, make):
    """Returns pictures with the one face in each, as `make` draws it."""
    drawn = []
    for index in range(count):
        random = np.random.default_rng([seed, 51, index])
        face = make(random, index)
        drawn.append((faces.picture(WIDTH, HEIGHT, [face], random), face))
    return drawn


def _one(random, _):
    return _face(random)


def crop(pixels, face, size, half, middle=(0.0, 0.15)):
    """Returns a square of so many half widths of the head around that place of the face."""
    x, y = face.at(*middle)
    half = half * face.radius
    step = 2 * half / size
    image = Image.fromarray(pixels.astype(np.uint8))
    place = (step, 0, x - half, 0, step, y - half)
    return np.asarray(image.transform((size, size), Image.AFFINE, place, Image.BILINEAR), np.float32)


def _planes(pictures):
    return np.ascontiguousarray(np.stack(pictures).transpose(0, 3, 1, 2), np.float32)


# Faces in pictures


def _scene(random):
    """Returns a picture with one or two faces."""
    places = random.permutation([90, 230])[: random.integers(1, 3)]
    shown = [_face(random, None, (x + random.uniform(-15, 15), 115 + random.uniform(-15, 15)),
                   random.uniform(35, 52)) for x in places]  # fmt: skip
    return faces.picture(WIDTH, HEIGHT, shown, random), np.stack([face.box() for face in shown])


def _scenes(count, seed):
    drawn = [_scene(np.random.default_rng([seed, 52, index])) for index in range(count)]
    return [pixels for pixels, _ in drawn], [boxes for _, boxes in drawn]


def wide_scenes(count, seed):
    pictures, boxes = _scenes(count, seed)
    return (_planes(pictures) - 127) / 128, boxes


def square_scenes(size):
    """Returns scenes on a grey square, whose pixels have their channels last."""

    def samples(count, seed):
        pictures, boxes = _scenes(count, seed)
        squares = []
        for pixels in pictures:
            square = Image.new("RGB", (WIDTH, WIDTH), (128, 128, 128))
            square.paste(Image.fromarray(pixels.astype(np.uint8)), (0, (WIDTH - HEIGHT) // 2))
            squares.append(np.asarray(square.resize((size, size), Image.BILINEAR), np.float32))
        down = np.array([0, 1, 0, 1]) * (WIDTH - HEIGHT) / 2
        return np.stack(squares) / 127.5 - 1, [of + down for of in boxes]

    return samples


def _kept(boxes, chances):
    """Returns the likeliest of boxes that overlap."""
    kept = []
    for index in np.argsort(-chances):
        if chances[index] < SURE:
            break
        if not kept or captchas.overlaps(boxes[index], np.array(kept)).max() < SAME_BOX:
            kept.append(boxes[index])
    return np.array(kept).reshape(-1, 4)


def _found_in_wide(outputs, index):
    boxes = outputs["boxes"].reshape(len(outputs["boxes"]), -1, 4)[index]
    chances = outputs["scores"].reshape(len(outputs["scores"]), -1, 2)[index, :, 1]
    return _kept(boxes * [WIDTH, HEIGHT, WIDTH, HEIGHT], chances)


# Each has the cells in a row, the boxes of a cell, the outputs with their scores and their places.
_GRIDS = (16, 2, "Identity:0", "Identity_2:0"), (8, 6, "Identity_1:0", "Identity_3:0")


def _found_in_square(size):

    def found(outputs, index):
        boxes, chances = [], []
        for cells, each, score, place in _GRIDS:
            of = outputs[place].reshape(len(outputs[place]), -1, 16)[index, :, :4] / size
            cell = np.arange(cells * cells * each) // each
            middle = (np.stack([cell % cells, cell // cells], axis=1) + 0.5) / cells + of[:, :2]
            boxes.append(np.concatenate([middle - of[:, 2:] / 2, middle + of[:, 2:] / 2], axis=1))
            raw = outputs[score].reshape(len(outputs[score]), -1)[index]
            chances.append(1 / (1 + np.exp(-np.clip(raw, -50, 50))))
        return _kept(np.concatenate(boxes) * WIDTH, np.concatenate(chances))

    return found


def finding(found):
    """Scores the mean overlap of each face with the box nearest to it; a box that meets no face
    counts as 0."""

    def score(wanted):
        def of(outputs):
            scores = []
            for index, boxes in enumerate(wanted):
                near = found(outputs, index)
                each = [captchas.overlaps(box, near) if len(near) else np.zeros(1) for box in boxes]
                scores += [overlap.max() for overlap in each]
                scores += [0.0] * int((np.max(each, axis=0) == 0).sum() if len(near) else 0)
            return float(np.mean(scores))

        return of

    return score


# One face


def grey_faces(count, seed):
    drawn = _drawn(count, seed, _one)
    grey = [crop(pixels, face, 64, 1.08).mean(axis=-1) / 256 for pixels, face in drawn]
    return np.stack(grey)[:, None].astype(np.float32), [face for _, face in drawn]


NEAR = 0.1  # how far a point may be off, as a part of half the head's width


def points(wanted):
    """Scores the share of the eyes, tips of the nose and corners of the mouth that are where they
    were drawn."""
    groups = [(37, 38, 40, 41), (43, 44, 46, 47), (30,), (48,), (54,)]

    def of(outputs):
        places = outputs["output"].reshape(len(wanted), 68, 2)
        near = []
        for found, face in zip(places, wanted):
            x, y = face.at(0.0, 0.15)
            half = 1.08 * face.radius
            here = np.stack([found[list(group)].mean(axis=0) for group in groups]) * 2 * half
            off = np.linalg.norm(here + [x - half, y - half] - face.points(), axis=1)
            near += list(off <= NEAR * face.radius)
        return float(np.mean(near))

    return of


def eyes(count, seed):
    pictures, is_open = [], []
    for pixels, face in _drawn(count, seed, _one):
        for side in (-1, 1):
            place = (side * face.person.eyes, -0.12)
            pictures.append(crop(pixels, face, 24, 1.7 * face.person.eye, place).mean(axis=-1) / 255)
            is_open.append(face.is_open)
    return np.stack(pictures)[:, None].astype(np.float32), np.array(is_open)


def open_or_shut(is_open):
    def of(outputs):
        chances = outputs["output"].reshape(len(is_open), 2)
        return float(np.mean((chances[:, 1] > chances[:, 0]) == is_open))

    return of


def coloured_faces(size, half, mean=0.0, deviation=1.0, largest=255.0):
    """Makes samples of faces whose pixels lie between 0 and 1, then less the mean, in
    deviations."""

    def samples(count, seed):
        drawn = _drawn(count, seed, _one)
        pictures = [crop(pixels, face, size, half) / largest for pixels, face in drawn]
        return _planes((np.stack(pictures) - mean) / deviation), [face for _, face in drawn]

    return samples


UPRIGHT = 5.0  # degrees


def _angle(chances):
    """Returns the angle from the chances of 66 steps of 3 degrees."""
    raised = np.exp(chances - chances.max(axis=-1, keepdims=True))
    return (raised / raised.sum(axis=-1, keepdims=True)) @ np.arange(66) * 3 - 99


def roll(wanted):
    """Scores the share of the faces whose roll is found to within five degrees."""
    drawn = np.array([face.roll for face in wanted])

    def of(outputs):
        told = _angle(outputs["618"].reshape(len(drawn), 66))
        return float(np.mean(np.abs(told - drawn) <= UPRIGHT))

    return of


def _aligned(pixels, face):
    """Returns the face turned and scaled, by least squares, so that its points lie where they
    should."""
    points_ = face.points()
    rows, wanted = [], []
    for (x, y), (u, v) in zip(ALIGNED, points_):
        rows += [(x, -y, 1, 0), (y, x, 0, 1)]
        wanted += [u, v]
    a, b, c, d = np.linalg.lstsq(np.array(rows), np.array(wanted), rcond=None)[0]
    image = Image.fromarray(pixels.astype(np.uint8))
    turned = image.transform((112, 112), Image.AFFINE, (a, -b, c, b, a, d), Image.BILINEAR)
    return (np.asarray(turned, np.float32) - 127) / 128


def people(count, seed):
    """Returns each person twice: first all, then all again with another pose, look and
    background."""
    chosen = [faces.person(np.random.default_rng([seed, 53, index])) for index in range(count // 2)]

    def again(random, index):
        return _face(random, chosen[index % len(chosen)], (160, 120), random.uniform(45, 65))

    drawn = _drawn(count, seed, again)
    return _planes([_aligned(pixels, face) for pixels, face in drawn]), count // 2


def recognised(count):
    """Scores the share of the people whose second picture is nearest to their first."""

    def of(outputs):
        described = outputs["output"].reshape(2 * count, -1)
        described = described / np.linalg.norm(described, axis=1, keepdims=True)
        nearest = (described[count:] @ described[:count].T).argmax(axis=1)
        return float(np.mean(nearest == np.arange(count)))

    return of


def as_float(decide, most=0):
    """Scores the share of the faces for which `decide` differs by at most `most` from what it gave
    the first time, in float."""

    def score(_):
        first = []

        def of(outputs):
            first.append(decide(outputs))
            return float(np.mean(np.abs(first[-1] - first[0]) <= most))

        return of

    return score


def classes(outputs):
    return outputs["output"].reshape(len(outputs["output"]), -1).argmax(axis=-1)


def expected_right(_):
    """Scores the share of the faces that a network is expected to name rightly: the mean of the
    chance that the network gave to each class named when it was first asked, in float. Without
    labels, these chances say how much a choice between two nearly equal classes costs, and how much
    another one does."""
    first = []

    def of(outputs):
        if not first:
            numbers = outputs["output"].reshape(len(outputs["output"]), -1)
            chances = np.exp(numbers - numbers.max(axis=-1, keepdims=True))
            first.append(chances / chances.sum(axis=-1, keepdims=True))
        return float(np.mean(np.take_along_axis(first[0], classes(outputs)[:, None], axis=-1)))

    return of


def age(outputs):
    """Returns years as SSR-Net has them: three stages, each of which refines the one before."""
    count = len(outputs["prob_stage_1"])
    total, scale = 0.0, 1.0
    for stage in (1, 2, 3):
        chances = outputs[f"prob_stage_{stage}"].reshape(count, 3)
        places = np.arange(3) + outputs[f"index_offset_stage{stage}"].reshape(count, 3)
        scale = scale * 3 * (1 + outputs[f"stage{stage}_delta_k"].reshape(count))
        total = total + (chances * places).sum(axis=1) / scale
    return total * 101


@dataclass(frozen=True)
class Kind:
    """One network's task."""

    samples: Callable  # makes, from count and seed, the network's inputs and the right answers
    score: Callable  # makes, from the right answers, a function of outputs by name that returns a share
    what: str
    outputs: tuple = ("output",)
    input: str = "input"
    count: int = 120  # the number of samples that are tried
    calibration: int = 24  # and of those for calibration


_IMAGENET = {"mean": IMAGENET_MEAN, "deviation": IMAGENET_DEVIATION}
_FACES_FOUND = "IoU of boxes with the faces drawn"
_SQUARE = ("Identity:0", "Identity_1:0", "Identity_2:0", "Identity_3:0")
_AGE = tuple(f"{name}{stage}{rest}" for name, rest in
             (("prob_stage_", ""), ("stage", "_delta_k"), ("index_offset_stage", ""))
             for stage in (1, 2, 3))  # fmt: skip

KINDS = {
    "blazeface_front": Kind(square_scenes(128), finding(_found_in_square(128)), _FACES_FOUND,
                            _SQUARE, "input:0"),
    "blazeface_back": Kind(square_scenes(256), finding(_found_in_square(256)), _FACES_FOUND,
                           _SQUARE, "input:0"),
    "face_finding": Kind(wide_scenes, finding(_found_in_wide), _FACES_FOUND, ("scores", "boxes")),
    "face_points": Kind(grey_faces, points, "eyes, noses and mouths where they were drawn"),
    "face_eyes": Kind(eyes, open_or_shut, "open or shut"),
    "face_pose": Kind(coloured_faces(224, 1.5, **_IMAGENET), roll, "roll within 5 degrees",
                      ("output", "617", "618"), count=200, calibration=100),
    "face_recognition": Kind(people, recognised, "people recognised", count=60),
    "face_age": Kind(coloured_faces(64, 1.5, **_IMAGENET), as_float(age, 2),
                     "age within two years of float's", _AGE),
    "face_expression": Kind(coloured_faces(224, 1.1), expected_right,
                            "named rightly, by float's own chances"),
    "face_liveness": Kind(coloured_faces(128, 2.7, largest=1.0), as_float(classes),
                          "says what float does"),
}  # fmt: skip
