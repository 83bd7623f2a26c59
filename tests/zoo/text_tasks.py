# SPDX-License-Identifier: MIT
"""Reading text: the inputs of the three networks of PP-OCRv4 and the meaning of their outputs."""

import numpy as np

import pages

PAGE = (640, 640)  # width, height
LINE = (480, 48)
TURNED = (192, 48)
MEAN = np.array([0.485, 0.456, 0.406])
DEVIATION = np.array([0.229, 0.224, 0.225])


def _planes(pixels):
    """Returns planes of blue, green and red, as these networks were trained."""
    return pixels[..., ::-1].transpose(2, 0, 1).astype(np.float32)


def page_tensor(pixels):
    return _planes((pixels / 255.0 - MEAN[::-1]) / DEVIATION[::-1])


def line_tensor(pixels, width):
    """Returns 48 rows; narrower lines are filled up with grey, wider ones are squeezed."""
    if pixels.shape[1] > width:
        columns = (np.arange(width) * pixels.shape[1] / width).astype(int)
        pixels = pixels[:, columns]
    result = np.zeros((3, 48, width), np.float32)
    result[:, :, : pixels.shape[1]] = _planes(pixels / 127.5 - 1)
    return result


# Detection


def detection_samples(count, seed):
    drawn = [pages.page(*PAGE, np.random.default_rng([seed, index])) for index in range(count)]
    tensors = np.stack([page_tensor(pixels) for pixels, _ in drawn])
    return tensors, [lines for _, lines in drawn]


def _regions(mask):
    """Returns labels of the connected regions of a mask, from 1; other pixels have 0."""
    parents = [0]

    def root(label):
        while parents[label] != label:
            parents[label] = parents[parents[label]]
            label = parents[label]
        return label

    labels = np.zeros(mask.shape, np.int32)
    above = []
    for y, row in enumerate(mask):
        edges = np.flatnonzero(np.diff(np.concatenate([[0], row.astype(np.int8), [0]])))
        runs = []
        for first, last in edges.reshape(-1, 2):
            touching = [label for begin, end, label in above if begin <= last and first <= end]
            if touching:
                label = root(touching[0])
                for other in touching[1:]:
                    parents[root(other)] = label
            else:
                label = len(parents)
                parents.append(label)
            labels[y, first:last] = label
            runs.append((first, last, label))
        above = runs
    return np.array([root(label) for label in range(len(parents))])[labels]


def boxes(chances, least=0.3, least_mean=0.6, unclip=1.5):
    """Returns rectangles of text, from the chance that each pixel is text (Differentiable
    Binarization)."""
    labels = _regions(chances > least)
    found = []
    for label in np.unique(labels[labels > 0]):
        rows, columns = np.nonzero(labels == label)
        if chances[rows, columns].mean() < least_mean or len(rows) < 30:
            continue
        left, right = columns.min(), columns.max() + 1
        top, bottom = rows.min(), rows.max() + 1
        width, height = right - left, bottom - top
        # The network marks the core of a line; its outline lies this far outside.
        margin = width * height * unclip / (2 * (width + height))
        found.append((left - margin, top - margin, right + margin, bottom + margin))
    return found


def overlap(one, other):
    """Returns the intersection over union of two rectangles."""
    width = min(one[2], other[2]) - max(one[0], other[0])
    height = min(one[3], other[3]) - max(one[1], other[1])
    if width <= 0 or height <= 0:
        return 0.0
    area = [(box[2] - box[0]) * (box[3] - box[1]) for box in (one, other)]
    return width * height / (sum(area) - width * height)


def detection_score(outputs, lines):
    """Returns the mean overlap of each line with the box nearest to it; a box that meets no line
    counts as 0."""
    scores = []
    for chances, drawn in zip(outputs.reshape(len(lines), *PAGE[::-1]), lines):
        found = boxes(chances)
        scores += [max((overlap(line.box, box) for box in found), default=0) for line in drawn]
        scores += [0.0 for box in found if not any(overlap(line.box, box) > 0 for line in drawn)]
    return float(np.mean(scores))


# Recognition


def recognition_samples(count, seed):
    drawn = [pages.line(np.random.default_rng([seed, index])) for index in range(count)]
    tensors = np.stack([line_tensor(pixels, LINE[0]) for pixels, _ in drawn])
    return tensors, [text for _, text in drawn]


def characters(path):
    """Returns the character of each of the recogniser's classes; class 0 is none."""
    return ["", *path.read_text(encoding="utf-8").split("\n")[:6623], " "]


def read(steps, alphabet):
    """Returns the text of a line from the chances of each class at each step (greedy CTC)."""
    best = steps.argmax(axis=-1)
    changed = np.concatenate([[True], best[1:] != best[:-1]])
    return "".join(alphabet[number] for number in best[changed])


def distance(one, other):
    """Returns how many characters must be put in, taken out or replaced (Levenshtein)."""
    row = list(range(len(other) + 1))
    for i, left in enumerate(one, 1):
        before, row[0] = row[0], i
        for j, right in enumerate(other, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (left != right))
    return row[-1]


def recognition_score(outputs, texts, alphabet):
    """Returns the share of the characters that are read correctly."""
    wrong = sum(distance(read(steps, alphabet), text) for steps, text in zip(outputs, texts))
    return 1 - wrong / sum(map(len, texts))


# Direction


def direction_samples(count, seed):
    """Returns lines, every second one upside down."""
    tensors = []
    for index in range(count):
        pixels, _ = pages.line(np.random.default_rng([seed, index]), most_characters=12)
        tensors.append(line_tensor(pixels[::-1, ::-1] if index % 2 else pixels, TURNED[0]))
    return np.stack(tensors), np.arange(count) % 2


def direction_score(outputs, turned):
    return float(np.mean(outputs.reshape(-1, 2).argmax(axis=1) == turned))
