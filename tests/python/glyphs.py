# SPDX-License-Identifier: MIT
"""The classifier of models/glyphs, compiled once for each test, and its held-out images."""

import os
import pathlib
import subprocess
import tempfile
import unittest

import numpy as np

from overtake import Model

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BINARY = os.environ.get("OVERTAKE", str(SOURCE / "build/bin/overtake"))
MAKE_MODEL = os.environ.get("MAKE_MODEL", str(SOURCE / "build/release/tests/make_model"))
FILES = SOURCE / "models/glyphs"


def overtake(*arguments):
    """Returns the command's output."""
    return subprocess.run([BINARY, *map(str, arguments)], capture_output=True, text=True, check=True).stdout


def compile_glyphs(directory):
    path = pathlib.Path(directory) / "glyphs.ovm"
    overtake("compile", FILES / "glyphs.onnx", "--calibration", FILES / "calibration.npy", "--max-time-per-fc", 1000,
             "-o", path)
    return path


def images():
    """float32 [640, 1, 24, 24]."""
    return np.load(FILES / "heldout_images.npy").astype(np.float32)


def labels():
    return np.load(FILES / "heldout_labels.npy")


class Case(unittest.TestCase):
    """With cls.directory, cls.path of the compiled classifier, cls.model and cls.images."""

    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.directory.cleanup)
        cls.path = compile_glyphs(cls.directory.name)
        cls.model = Model(cls.path)
        cls.images = images()
