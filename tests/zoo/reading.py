# SPDX-License-Identifier: MIT
"""The program examples/read_text.cpp, and the same chain of networks in float to compare it
with."""

import pathlib
import subprocess
import tempfile

import numpy as np
from PIL import Image

import pages
import text_tasks
from tasks import NETWORKS, TRIAL

DETECTION, RECOGNITION = NETWORKS["text_detection"], NETWORKS["text_recognition"]
PAGES = 3


def _scaled(pixels, box, width, height):
    """Returns a part of a picture in another size, interpolated between its pixels (bilinear)."""
    left, top, right, bottom = box
    y = top + (np.arange(height) + 0.5) * (bottom - top) / height - 0.5
    x = left + (np.arange(width) + 0.5) * (right - left) / width - 0.5
    y, x = np.clip(y, 0, pixels.shape[0] - 1), np.clip(x, 0, pixels.shape[1] - 1)
    above, before = y.astype(int), x.astype(int)
    below = np.minimum(above + 1, pixels.shape[0] - 1)
    behind = np.minimum(before + 1, pixels.shape[1] - 1)
    down, across = (y - above)[:, None, None], (x - before)[None, :, None]
    pixels = pixels.astype(np.float64)
    upper = pixels[above][:, before] * (1 - across) + pixels[above][:, behind] * across
    lower = pixels[below][:, before] * (1 - across) + pixels[below][:, behind] * across
    return upper * (1 - down) + lower * down


def drawn(page):
    return pages.page(*text_tasks.PAGE, np.random.default_rng([TRIAL, 100 + page]))


def _line_tensor(pixels, box):
    width, height = text_tasks.LINE
    wide = int(np.clip(np.ceil((box[2] - box[0]) * height / (box[3] - box[1])), 1, width))
    return text_tasks.line_tensor(_scaled(pixels, box, wide, height), width)


def lines_in_float(zoo):
    """Returns each page's lines as the float networks read them, from top to bottom."""
    alphabet = text_tasks.characters(zoo.directory / "characters.txt")
    pictures = [drawn(page)[0] for page in range(PAGES)]
    pages_ = np.stack([text_tasks.page_tensor(pixels) for pixels in pictures])
    (chances,) = zoo.float(DETECTION, {"x": pages_}).values()
    read = []
    for pixels, of_page in zip(pictures, chances.reshape(PAGES, *text_tasks.PAGE[::-1])):
        limits = np.array([*text_tasks.PAGE, *text_tasks.PAGE])
        found = [tuple(np.clip(box, 0, limits)) for box in text_tasks.boxes(of_page)]
        found.sort(key=lambda box: (box[1] + box[3], box[0]))
        tensors = np.stack([_line_tensor(pixels, box) for box in found])
        (steps,) = zoo.float(RECOGNITION, {"x": tensors}).values()
        steps = steps.reshape(len(found), -1, len(alphabet))
        read.append([text_tasks.read(line, alphabet).strip(" ") for line in steps])
    return read


def lines_of_program(program, zoo):
    """Returns the lines as the program prints them; its networks run in int8 on the embedded
    device."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [str(pathlib.Path(folder) / f"page{page}.png") for page in range(PAGES)]
        for page, path in enumerate(paths):
            Image.fromarray(drawn(page)[0]).save(path)
        printed = subprocess.run(
            [program, zoo.compiled(DETECTION), zoo.compiled(RECOGNITION),
             zoo.directory / "characters.txt", "--device", "embedded", *paths],
            capture_output=True, text=True, check=True,
        ).stdout  # fmt: skip
        parts = printed
        read = []
        for path in paths:
            _, _, parts = parts.partition(f"{path}:\n")
            following = [other for other in paths if f"{other}:\n" in parts]
            own = parts.partition(f"{following[0]}:\n")[0] if following else parts
            read.append(own.splitlines())
    return read


def characters_read(read):
    """Returns the share of the pages' text that is read correctly, line by line."""
    wrong = count = 0
    for page, lines in enumerate(read):
        texts = [line.text for line in drawn(page)[1]]
        count += sum(map(len, texts))
        wrong += text_tasks.distance("\n".join(lines), "\n".join(texts))
    return 1 - wrong / count
