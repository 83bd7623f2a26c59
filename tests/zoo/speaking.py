# SPDX-License-Identifier: MIT
"""Speech or not: minutes of sentences, pauses and noise, for networks that keep a state."""

import numpy as np

import listening
import sounds

SECONDS = 60
# The new samples that a network gets at once, and the earlier ones that it gets again before them.
FRAMES = {
    "silero_vad_legacy": (1536, 0),
    **{f"silero_vad_{which}": (512, 64) for which in ("v5", "v6", "half", "opset15", "opset18")},
}
SPEAKS = 0.5


def minute(seed):
    """Returns a sound, and for each sample whether it belongs to a sentence."""
    random = np.random.default_rng([seed, SECONDS])
    count = SECONDS * sounds.RATE
    sound = sounds.noise(SECONDS, random) * random.uniform(0.01, 0.05)
    is_speech = np.zeros(count, bool)
    at = int(random.uniform(0.5, 2) * sounds.RATE)
    while True:
        words = listening.OTHERS[random.integers(len(listening.OTHERS))]
        said = sounds.say_somehow(words, random) * random.uniform(0.3, 0.9)
        if at + len(said) > count:
            return np.clip(sound, -1, 1).astype(np.float32), is_speech
        sound[at : at + len(said)] += said
        is_speech[at : at + len(said)] = True
        at += len(said) + int(random.uniform(0.5, 3) * sounds.RATE)


def frames(name, sound):
    """Returns the network's input, frame by frame."""
    size, context = FRAMES[name]
    padded = np.pad(sound, (context, 0))
    starts = range(0, len(sound) - size + 1, size)
    return np.stack([padded[s : s + context + size] for s in starts])


def decisions(outputs):
    return outputs.ravel() >= SPEAKS


def share_right(name, outputs, is_speech):
    """Returns the share of right decisions on frames that are speech throughout, or not at all."""
    size, _ = FRAMES[name]
    shares = is_speech[: len(is_speech) // size * size].reshape(-1, size).mean(axis=1)
    clear = (shares == 0) | (shares == 1)
    return float(np.mean((decisions(outputs) == (shares == 1))[clear]))


class SameDecisions:
    """The share of the frames in which an execution decides as the first one did."""

    def __init__(self):
        self._first = None

    def __call__(self, outputs):
        decided = decisions(outputs)
        self._first = decided if self._first is None else self._first
        return float(np.mean(decided == self._first))
