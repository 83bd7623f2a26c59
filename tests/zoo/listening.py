# SPDX-License-Identifier: MIT
"""Wake words: the results of openWakeWord's networks for clips of speech and noise.

Sound goes through three networks: melspectrogram (80 ms and what precedes them -> 8 rows of 32),
speech_embedding (76 rows -> 96 numbers that describe three quarters of a second), and one network
per phrase, which looks at the last 16 or more such descriptions."""

from dataclasses import dataclass

import numpy as np

import sounds

CHUNK = 1760  # the samples that melspectrogram gets at once
STEP = 1280
ROWS, ROW_STEP = 76, 8
SECONDS = 4.0
FIRES = 0.5
PHRASES = {
    "alexa": ("alexa", 16),
    "hey_jarvis": ("hey jarvis", 16),
    "hey_mycroft": ("hey my croft", 16),  # spelled as espeak-ng has to read it
    "hey_rhasspy": ("hey rhasspy", 16),
    "timer": ("set a timer for ten minutes", 34),
    "weather": ("what's the weather", 22),
}
OTHERS = [
    "the quick brown fox jumps over the lazy dog", "please close the window", "good morning",
    "where did you put the keys", "a lecture about harvest and rivers", "seven hundred and eleven",
    "hey you over there", "that is a nice jar of jam", "next exit in two miles", "I like it here",
]  # fmt: skip


@dataclass
class Clips:
    """Sounds of one length, and the kind of each: a phrase's name, "other" speech or "noise"."""

    sounds: np.ndarray
    kinds: list


def clips(each, seed):
    """Makes so many clips of each phrase, of other speech and of noise."""
    made, kinds = [], []
    for kind in [*PHRASES, "other", "other", "noise", "noise"]:
        for _ in range(each):
            random = np.random.default_rng([seed, len(made)])
            if kind == "noise":
                sound = sounds.noise(SECONDS, random)
            else:
                words = OTHERS[random.integers(len(OTHERS))] if kind == "other" else PHRASES[kind][0]
                sound = sounds.placed(sounds.say_somehow(words, random), SECONDS, random)
            made.append(sound)
            kinds.append(kind)
    return Clips(np.stack(made), kinds)


def chunks(clips_):
    """Returns the input of melspectrogram: clips x chunks x samples, as 16-bit numbers."""
    scaled = np.pad(np.rint(clips_.sounds * 32767), ((0, 0), (CHUNK - STEP, 0)))
    starts = range(0, scaled.shape[1] - CHUNK + 1, STEP)
    return np.stack([scaled[:, s : s + CHUNK] for s in starts], axis=1).astype(np.float32)


def spectra(outputs, count):
    """Returns melspectrogram's outputs as one picture per clip: clips x rows x 32, as
    speech_embedding needs them."""
    return outputs.reshape(count, -1, 32) / 10 + 2


def pictures(rows):
    """Returns the input of speech_embedding: clips x windows x 76 x 32 x 1."""
    starts = range(0, rows.shape[1] - ROWS + 1, ROW_STEP)
    return np.stack([rows[:, s : s + ROWS, :, None] for s in starts], axis=1).astype(np.float32)


def windows(embeddings, name):
    """Returns the input of a phrase's network: clips x windows x descriptions x 96."""
    length = PHRASES[name][1]
    starts = range(0, embeddings.shape[1] - length + 1)
    return np.stack([embeddings[:, s : s + length] for s in starts], axis=1)


def fires(outputs, name, count):
    """Whether the phrase is heard in each clip."""
    outputs = outputs.reshape(count, -1, outputs.shape[-1])
    # The timer's network has a class for each duration; class 0 is none.
    chances = 1 - outputs[..., 0] if name == "timer" else outputs[..., 0]
    return chances.max(axis=1) >= FIRES


def share_right(fired, name, kinds):
    """Returns the share of the clips at which the network fires if, and only if, the phrase is
    said."""
    return float(np.mean(fired == (np.array(kinds) == name)))


class SpeechOrNoise:
    """Distinguishes the descriptions of speech from those of noise by the nearer mean."""

    def __init__(self, embeddings, kinds):
        is_noise = np.array(kinds) == "noise"
        # The first windows of a clip of speech are as silent as the room.
        self._means = [embeddings[rows, -8:].mean(axis=(0, 1)) for rows in (~is_noise, is_noise)]

    def share_right(self, embeddings, kinds):
        """Returns the share of the clips that are sorted rightly, by the mean of their last
        descriptions."""
        described = embeddings[:, -8:].mean(axis=1)
        speech, noise = (np.linalg.norm(described - mean, axis=-1) for mean in self._means)
        return float(np.mean((noise < speech) == (np.array(kinds) == "noise")))
