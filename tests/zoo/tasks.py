# SPDX-License-Identifier: MIT
"""The networks of the zoo and the task of each: its samples, and how well its outputs do the
task."""

from dataclasses import dataclass

import numpy as np

import captchas
import face_tasks
import lines
import listening
import objects
import speaking
import text_tasks
from runner import Network, Refused

CALIBRATION, TRIAL = 1000, 7  # seeds
LISTENED = 500  # the number of samples to calibrate the networks of sound with

# A few of their values lie far beyond all others: the method is the one that comes nearest to
# float.
NEAREST = ["--calibration-method", "best"]
# The parts of these networks for which 8 bits are too few are computed in float.
ACCURATE = ["--accuracy", "0.99"]
# The states of these networks carry rounding errors from frame to frame.
STEADY = ["--accuracy", "0.998"]
# A few nodes in 16 bits bring these networks that near. Nearer needs float, which takes the CPU
# forty times as long.
NEARLY = ["--accuracy", "0.975"]
# No single node of these networks is enough in 16 bits.
WIDE = ["--int16", "all"]
# One value in ten thousand lies so far out that a range which covers it has no steps left for the
# rest.
MOST = ["--percentile", "99.99"]

FACES = {
    "blazeface_front": NEAREST,
    "blazeface_back": ACCURATE,
    "face_age": ACCURATE,
    "face_expression": WIDE,
}  # fmt: skip

# The networks that find line segments, and the width of their pictures.
LINES = {"lines_tiny": 320, "lines_large": 320, "lines_tiny_wide": 512, "lines_large_wide": 512}

NETWORKS = {
    network.name: network
    for network in [
        Network("text_detection", {"x": "1x3x640x640"}, options=NEAREST),
        Network("text_recognition", {"x": "1x3x48x480"}, options=NEAREST),
        Network("text_direction", {"x": "1x3x48x192"}),
        Network("melspectrogram", {"input": f"1x{listening.CHUNK}"}),
        Network("speech_embedding", {"input_1": "1x76x32x1"}),
        *[Network(name) for name in listening.PHRASES],
        Network("silero_vad_legacy", {"input": "1x1536", "h": "2x1x64", "c": "2x1x64"},
                {"sr": 16000}, ACCURATE, {"hn": "h", "cn": "c"}),
        Network("silero_vad_v5", {"input": "1x576", "state": "2x1x128"}, {"sr": 16000},
                STEADY, {"stateN": "state"}),
        Network("silero_vad_v6", {"input": "1x576", "state": "2x1x128"}, {"sr": 16000},
                ACCURATE, {"stateN": "state"}),
        *[Network(f"silero_vad_{which}", {"input": "1x576", "state": "2x1x128"}, values,
                  options, {"stateN": "state"})
          for which, values, options in (("half", {}, STEADY), ("opset15", {"sr": 16000}, ACCURATE),
                                         ("opset18", {"sr": 16000}, ACCURATE))],
        *[Network(f"captcha_reading{which}", {"input1": f"1x1x{captchas.HEIGHT}x{captchas.WIDTH}"})
          for which in ("", "_old")],
        Network("captcha_finding", options=NEAREST),
        *[Network(name, options=NEARLY if name == "lines_tiny" else WIDE) for name in LINES],
        *[Network(name, options=FACES.get(name, [])) for name in face_tasks.KINDS],
        Network("segmentation_medium", options=MOST),
        Network("segmentation_small", options=MOST),
    ]
}  # fmt: skip


@dataclass
class Task:
    """One task of a network."""

    network: Network
    calibration: dict  # arrays by input, whose first axis counts samples
    samples: dict
    # The file stem of the output that does the task, or of the outputs that do it together.
    output: str | tuple
    scores: dict  # by what is measured: a function of that output, or of those outputs by name


def text_detection(_):
    samples, lines = text_tasks.detection_samples(6, TRIAL)
    calibration, _ = text_tasks.detection_samples(4, CALIBRATION)
    return Task(
        NETWORKS["text_detection"], {"x": calibration}, {"x": samples}, "sigmoid_0.tmp_0",
        {"IoU of boxes with the lines drawn": lambda out: text_tasks.detection_score(out, lines)},
    )  # fmt: skip


def text_recognition(zoo):
    samples, texts = text_tasks.recognition_samples(40, TRIAL)
    calibration, _ = text_tasks.recognition_samples(30, CALIBRATION)
    alphabet = text_tasks.characters(zoo.directory / "characters.txt")
    return Task(
        NETWORKS["text_recognition"], {"x": calibration}, {"x": samples}, "softmax_11.tmp_0",
        {"characters read": lambda out: text_tasks.recognition_score(out, texts, alphabet)},
    )  # fmt: skip


def text_direction(_):
    samples, turned = text_tasks.direction_samples(40, TRIAL)
    calibration, _ = text_tasks.direction_samples(30, CALIBRATION)
    return Task(
        NETWORKS["text_direction"], {"x": calibration}, {"x": samples}, "softmax_0.tmp_0",
        {"upright or upside down": lambda out: text_tasks.direction_score(out, turned)},
    )  # fmt: skip


def captcha_reading(which):
    def task(zoo):
        samples, texts = captchas.reading_samples(60, TRIAL)
        calibration, _ = captchas.reading_samples(30, CALIBRATION)
        characters = captchas.alphabet(zoo.directory / f"captcha_characters{which}.json")
        return Task(
            NETWORKS[f"captcha_reading{which}"], {"input1": calibration}, {"input1": samples}, "387",
            {"characters read": lambda out: captchas.reading_score(out, texts, characters)},
        )  # fmt: skip

    return task


def captcha_finding(_):
    samples, boxes = captchas.finding_samples(24, TRIAL)
    calibration, _ = captchas.finding_samples(6, CALIBRATION)
    return Task(
        NETWORKS["captcha_finding"], {"images": calibration}, {"images": samples}, "output",
        {"IoU of boxes with the letters drawn": lambda out: captchas.finding_score(out, boxes)},
    )  # fmt: skip


def line_segments(name):
    def task(_):
        samples, segments = lines.samples(16, LINES[name], TRIAL)
        # The search for nodes needs more samples than ranges do.
        calibration, _ = lines.samples(8 if name == "lines_tiny" else 4, LINES[name], CALIBRATION)

        def score(out):
            return lines.score(out["scores"], out["offsets"], segments)

        return Task(
            NETWORKS[name], {"input_image_with_alpha:0": calibration},
            {"input_image_with_alpha:0": samples}, ("scores", "offsets"),
            {"segments found, as F score": score},
        )  # fmt: skip

    return task


def face(name):
    def task(_):
        kind = face_tasks.KINDS[name]
        samples, right = kind.samples(kind.count, TRIAL)
        calibration, _ = kind.samples(kind.calibration, CALIBRATION)
        return Task(NETWORKS[name], {kind.input: calibration}, {kind.input: samples},
                    kind.outputs, {kind.what: kind.score(right)})  # fmt: skip

    return task


def segmentation(name):
    def task(_):
        samples, masks = objects.samples(2, TRIAL)
        calibration, _ = objects.samples(1, CALIBRATION)
        return Task(
            NETWORKS[name], {"input": calibration}, {"input": samples}, "output",
            {"IoU of mask with the object": lambda out: objects.overlap(out, masks)},
        )  # fmt: skip

    return task


def speaking_or_not(name):
    def task(_):
        sound, is_speech = speaking.minute(TRIAL)
        calibration, _ = speaking.minute(CALIBRATION)
        return Task(
            NETWORKS[name], {"input": speaking.frames(name, calibration)},
            {"input": speaking.frames(name, sound)}, "output",
            {"speech or not, in frames of a minute":
                lambda out: speaking.share_right(name, out, is_speech),
             "decides as float does": speaking.SameDecisions()},
        )  # fmt: skip

    return task


class Listening:
    """The networks of sound feed each other: the judged network gets the results that the others compute in
    float."""

    def __init__(self, zoo):
        self._zoo = zoo
        self.phrases = [name for name in listening.PHRASES if self._runs(name)]
        self.trial = listening.clips(16, TRIAL)
        self._calibration = listening.clips(3, CALIBRATION)
        self._spectra = {}
        self._embeddings = {}
        for clips in (self.trial, self._calibration):
            chunks = listening.chunks(clips).reshape(-1, listening.CHUNK)
            heard = self.one(zoo.float, "melspectrogram", {"input": chunks})
            self._spectra[id(clips)] = listening.spectra(heard, len(clips.kinds))
            self._embeddings[id(clips)] = self.embed(zoo.float, self._spectra[id(clips)])
        self.told_apart = listening.SpeechOrNoise(
            self._embeddings[id(self._calibration)], self._calibration.kinds
        )

    def _runs(self, name):
        silence = np.zeros((1, listening.PHRASES[name][1], 96), np.float32)
        try:
            self._zoo.float(NETWORKS[name], {self._input(name): silence})
        except Refused:
            return False
        return True

    @staticmethod
    def one(execute, name, samples):
        """Returns the only output."""
        (output,) = execute(NETWORKS[name], samples).values()
        return output

    def embed(self, execute, rows):
        pictures = listening.pictures(rows)
        flat = pictures.reshape(-1, *pictures.shape[2:])
        heard = self.one(execute, "speech_embedding", {"input_1": flat})
        return heard.reshape(*pictures.shape[:2], 96)

    def hear(self, execute, embeddings):
        """Returns the share of all clips and phrases for which the phrases' networks are right."""
        shares = []
        for name in self.phrases:
            windows = self._flat_windows(embeddings, name)
            heard = self.one(execute, name, {self._input(name): windows})
            fired = listening.fires(heard, name, len(embeddings))
            shares.append(listening.share_right(fired, name, self.trial.kinds))
        return float(np.mean(shares))

    def everything(self, execute):
        """Returns the share when one executor runs all three kinds of network."""
        chunks = listening.chunks(self.trial).reshape(-1, listening.CHUNK)
        heard = self.one(execute, "melspectrogram", {"input": chunks})
        rows = listening.spectra(heard, len(self.trial.kinds))
        return self.hear(execute, self.embed(execute, rows))

    def melspectrogram(self, _):
        kinds = self.trial.kinds

        def score(out):
            rows = listening.spectra(out, len(kinds))
            return self.hear(self._zoo.float, self.embed(self._zoo.float, rows))

        return Task(
            NETWORKS["melspectrogram"],
            {"input": self._some(listening.chunks(self._calibration), 2)},
            {"input": listening.chunks(self.trial).reshape(-1, listening.CHUNK)}, "output",
            {"wake words, the rest in float": score},
        )  # fmt: skip

    def speech_embedding(self, _):
        kinds = self.trial.kinds
        pictures = listening.pictures(self._spectra[id(self.trial)])

        def shaped(out):
            return out.reshape(*pictures.shape[:2], 96)

        return Task(
            NETWORKS["speech_embedding"],
            {"input_1": self._some(listening.pictures(self._spectra[id(self._calibration)]), 2)},
            {"input_1": pictures.reshape(-1, *pictures.shape[2:])}, "conv2d_19",
            {"wake words, the rest in float":
                lambda out: self.hear(self._zoo.float, shaped(out)),
             "speech or noise, by the nearest mean":
                lambda out: self.told_apart.share_right(shaped(out), kinds)},
        )  # fmt: skip

    def phrase(self, name):
        def task(_):
            kinds = self.trial.kinds
            samples = self._flat_windows(self._embeddings[id(self.trial)], name)
            calibration = listening.windows(self._embeddings[id(self._calibration)], name)

            def score(out):
                return listening.share_right(listening.fires(out, name, len(kinds)), name, kinds)

            what = f'fires at "{listening.PHRASES[name][0]}" only'
            return Task(
                NETWORKS[name], {self._input(name): self._some(calibration, 2)},
                {self._input(name): samples}, "", {what: score},
            )  # fmt: skip

        return task

    @staticmethod
    def _some(samples, axes):
        """Draws some entries of the first axes."""
        flat = samples.reshape(-1, *samples.shape[axes:])
        chosen = np.random.default_rng(CALIBRATION).permutation(len(flat))[:LISTENED]
        return flat[chosen]

    @staticmethod
    def _flat_windows(embeddings, name):
        windows = listening.windows(embeddings, name)
        return windows.reshape(-1, *windows.shape[2:])

    @staticmethod
    def _input(name):
        return "x.1" if name == "hey_jarvis" else "onnx::Flatten_0"
