# SPDX-License-Identifier: MIT
"""Speech from espeak-ng and noise from seeds, at 16,000 samples a second."""

import io
import subprocess
import wave

import numpy as np

RATE = 16000
VOICES = ["en-us", "en-gb", "en-gb-scotland", "en-029", "en-us+f2", "en-us+f4", "en-us+m3",
          "en-us+m7", "en-gb+f3", "en-gb+m2"]  # fmt: skip


def resample(sound, rate):
    """Converts a sound to 16,000 samples a second, by way of its spectrum."""
    length = int(round(len(sound) * RATE / rate))
    spectrum = np.fft.rfft(sound)[: length // 2 + 1]
    return np.fft.irfft(spectrum, length) * (length / len(sound))


def say(words, voice, speed, pitch):
    """Returns the words as they sound, between -1 and 1."""
    said = subprocess.run(
        ["espeak-ng", "-v", voice, "-s", str(speed), "-p", str(pitch), "--stdout", words],
        capture_output=True, check=True,
    )  # fmt: skip
    with wave.open(io.BytesIO(said.stdout)) as file:
        rate = file.getframerate()
        samples = np.frombuffer(file.readframes(2**24), dtype="<i2")
    return resample(samples / 32768.0, rate)


def say_somehow(words, random):
    """Returns the words in a voice, at a speed and a pitch that are drawn."""
    voice = VOICES[random.integers(len(VOICES))]
    return say(words, voice, int(random.integers(130, 175)), int(random.integers(25, 75)))


def noise(seconds, random):
    """Returns noise that is white, pink, a hum, or clicks, as loud as speech or less."""
    count = int(seconds * RATE)
    white = random.standard_normal(count)
    kind = random.integers(4)
    if kind == 1:
        spectrum = np.fft.rfft(white)
        white = np.fft.irfft(spectrum / np.sqrt(np.arange(1, len(spectrum) + 1)), count)
    elif kind == 2:
        time = np.arange(count) / RATE
        pitch = random.uniform(40, 400)
        white = 0.1 * white + sum(np.sin(2 * np.pi * pitch * k * time) / k for k in range(1, 6))
    elif kind == 3:
        white = white * (random.random(count) < 0.002) + 0.01 * white
    return white / np.abs(white).max() * random.uniform(0.05, 0.5)


def placed(sound, seconds, random, loudness=None):
    """Returns so many seconds of little noise, with the sound ending near the end."""
    count = int(seconds * RATE)
    result = random.standard_normal(count) * 0.001
    sound = sound[-count:] * (random.uniform(0.4, 1.0) if loudness is None else loudness)
    end = count - int(min(count - len(sound), random.uniform(0.2, 0.5) * RATE))
    result[end - len(sound) : end] += sound
    return np.clip(result, -1, 1)
