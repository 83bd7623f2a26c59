# SPDX-License-Identifier: MIT
"""What the overtake command says to wrong inputs, and what is left of a run that fails.

Each row of a table is a command line and what it must say: one line on stderr that begins with
"overtake: ", the exit status 1 (failure) or 2 (bad usage), nothing on stdout, and no file made,
changed or left behind.
"""

import json
import os
import pathlib
import pty
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

import numpy as np
from PIL import Image

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "tests/compiler"))

from overtake_command import BINARY  # noqa: E402
from small_models import model, node, relu, save, two_inputs  # noqa: E402

GLYPHS = SOURCE / "models/glyphs"

SUBCOMMANDS = ("compile", "info", "run", "pack", "perf", "devices", "compare", "sim", "calibrate",
               "demo", "completion")  # fmt: skip
DEMO = "demo --detector net.ovm --large net.ovm --large-split net.ovm"

# (command line, what it says); a usage error also names the --help of its subcommand.
USAGE = [
    ("", "A subcommand is required; see overtake --help"),
    ("nonsense", "nonsense: is not a subcommand; see overtake --help"),
    ("--nonsense", "--nonsense: is not an option; see overtake --help"),
    ("-x run", "-x: is not an option; see overtake"),
    ("compile", "MODEL or --config is required"),
    ("compile net.onnx two.onnx", "two.onnx: is one argument too many; see overtake compile"),
    ("compile net.onnx --nonsense", "--nonsense: is not an option; see overtake compile"),
    ("compile net.onnx -c key.yaml", "MODEL: cannot be given together with --config"),
    ("compile -c key.yaml --mean 5", "--config: cannot be given together with --mean"),
    ("compile net.onnx --max-time-per-fc", "--max-time-per-fc: needs a value"),
    ("compile net.onnx --max-time-per-fc -1", "--max-time-per-fc: '-1' is not a whole number"),
    ("compile net.onnx --max-time-per-fc fast", "--max-time-per-fc: 'fast' is not a whole number"),
    ("compile net.onnx --max-time-per-fc 5", "'5' is not 0 (off) or 1000..4294967295"),
    ("compile net.onnx --max-time-per-fc 1000 --max-time-per-fc 2000", "more than once"),
    ("compile net.onnx --calibration", "--calibration: needs a value"),
    ("compile net.onnx --calibration-method fast",
     "'fast' is not min-max, percentile, kl, mse or best"),
    ("compile net.onnx --percentile nan", "--percentile: 'nan' is not a number in 90..100"),
    ("compile net.onnx --seed -1", "--seed: '-1' is not a whole number"),
    ("compile net.onnx --mean red", "--mean: 'red' is not a number"),
    ("compile net.onnx --mean 1,nan,2", "--mean: 'nan' is not a number"),
    ("compile net.onnx --scale 0", "--scale: '0' is not a number above 0"),
    ("compile net.onnx --input-shape x", "--input-shape: 'x' is not NAME=1x3x224x224"),
    ("compile net.onnx --input-shape x=1x3x0x8", "'x=1x3x0x8' is not NAME=1x3x224x224"),
    ("compile net.onnx --input-shape x=-1x2", "'x=-1x2' is not NAME=1x3x224x224"),
    ("compile net.onnx --report r.pdf", "FILE.html, FILE.json or FILE.txt, or a directory"),
    ("info", "MODEL is required"),
    ("info net.ovm --report r.pdf", "FILE.html, FILE.json or FILE.txt, or a directory"),
    ("run", "MODEL is required"),
    ("run net.ovm", "--input is required"),
    ("run net.ovm -x", "-x: is not an option"),
    ("run net.ovm --input x=x.npy --output-dir o --core-limit 1", "--core-limit: needs --priority"),
    ("run net.ovm --input x=x.npy", "--output-dir is required"),
    ("run net.ovm --input x=x.npy --output-dir ''", "--output-dir: is empty"),
    ("run net.ovm --input x --output-dir o", "'x' is not NAME=FILE.npy"),
    ("run net.ovm --input x= --output-dir o", "'x=' is not NAME=FILE.npy"),
    ("run net.ovm --input =x.npy --output-dir o", "'=x.npy' is not NAME=FILE.npy"),
    ("run net.ovm --input x=x.npy --input x=x.npy --output-dir o", "is given twice"),
    ("run net.ovm --input x=x.npy --output-dir o --calibration x.npy", "is compiled already"),
    ("run net.onnx --input x=x.npy --output-dir o --model-name a", "--model-name: is for packs"),
    ("run net.ovm --input x=x.npy --output-dir o --core -1", "'-1' is not a whole number in 0..64"),
    ("run net.ovm --input x=x.npy --output-dir o --priority 256", "not a whole number in 0..255"),
    ("run net.ovm --input x=x.npy --output-dir o --priority high", "'high' is not a whole number"),
    ("run net.ovm --input x=x.npy --output-dir o --custom-id a", "'a' is not a whole number"),
    ("run net.ovm --input x=x.npy --output-dir o --custom-id 99999999999999999999",
     "'99999999999999999999' is not a whole number"),
    ("pack", "MODEL is required"),
    ("pack net.ovm", "--output is required"),
    ("perf", "MODEL is required"),
    ("perf net.ovm --mode fast", "functional, timed"),
    ("perf net.ovm --cores 0", "--cores: '0' is not a whole number in 1..64"),
    ("perf net.ovm --cores abc", "--cores: 'abc' is not a whole number in 1..64"),
    ("perf net.ovm --seconds 0", "--seconds: '0' is not a number in 0.001..10000000"),
    ("perf net.ovm --core-limit 1", "--core-limit: needs --priority 255"),
    ("perf net.ovm --frames -1", "--frames: '-1' is not a whole number"),
    ("perf net.ovm --frames few", "--frames: 'few' is not a whole number"),
    ("perf net.ovm --in-flight 0", "--in-flight: '0' is not a whole number in 1..1024"),
    ("devices all", "all: is one argument too many"),
    ("compare", "A is required"),
    ("compare x.npy", "B is required"),
    ("compare x.npy x.npy --cosine 2", "--cosine: '2' is not a number in -1..1"),
    ("compare x.npy x.npy --max-error -1", "--max-error: '-1' is not a number of at least 0"),
    ("completion", "SHELL is required"),
    ("completion csh", "'csh' is not bash"),
    ("demo", "--detector is required"),
    (f"{DEMO} --requests 0", "--requests: '0' is not a whole number in 1..1000000"),
    (f"{DEMO} --predict --repeat 2", "cannot be given together with"),
    (f"{DEMO} --device embedded", "embedded cannot be shared by the demo's two clients"),
    ("sim", "SCENARIO is required"),
    ("sim demo-both --set nonsense", "--set nonsense: KEY=VALUE is needed"),
    ("sim demo-both --seed -1", "--seed: '-1' is not a whole number"),
    ("sim demo-both --sweep nonsense", "KEY=A..B"),
    ("sim demo-both --sweep core_limit=5..1", "values are A..B, A..B:STEP or V|V|V"),
    ("sim demo-both --repeat 0", "--repeat: '0' is not a whole number in 1..1000000"),
    ("sim demo-both --columns p50", "--columns requires --sweep or --repeat"),
    ("sim demo-both --from 5ms", "--from requires --svg, --png or --perfetto"),
    ("sim demo-both --from soon --svg a.svg", "soon is not a time"),
    ("sim demo-both --from -5ms --svg a.svg", "-5ms is not a time"),
    ("sim demo-both --from 5ms --to 5ms --svg a.svg", "--to: must be later than --from"),
    ("sim demo-both --fuzz 5", "SCENARIO: cannot be given together with --fuzz"),
    ("sim --fuzz 0", "--fuzz: '0' is not a whole number"),
    ("sim --commands 5", "--commands requires --fuzz"),
    ("calibrate", "to check one, is required"),
    ("calibrate net.ovm --runs 0", "--runs: '0' is not a whole number in 1..100000"),
    ("calibrate -o h.yaml --name ''", "--name: is empty"),
]

FAILURES = [
    # What is to be compiled.
    ("compile absent.onnx", "absent.onnx: No such file or directory; name a readable ONNX file"),
    ("compile folder", "folder: is a directory; name an ONNX file"),
    ("compile empty", "empty: is empty; export the network again"),
    ("compile cut_net.onnx", "cut_net.onnx: not an ONNX model; is the file whole?"),
    ("compile net.ovm", "net.ovm: is a compiled model already"),
    ("compile x.npy", "x.npy: is an array; name an ONNX file"),
    ("compile text.txt", "text.txt: not an ONNX model"),
    ("compile net.onnx --input-shape y=1x2", "--input-shape y: net.onnx has no such input"),
    ("compile net.onnx --input-shape x=1x2", "--input-shape x: net.onnx: the input has 4 dim"),
    ("compile net.onnx --run-on-cpu nobody", "nobody: net.onnx has no such node"),
    ("compile -c absent.yaml", "absent.yaml: cannot be read; name a YAML file"),
    ("compile -c folder", "folder: is a directory; name a YAML file"),
    ("compile -c empty", "empty:1: holds no groups of keys"),
    ("compile net.onnx --profile nothing", "is neither the name of a built-in profile (default, "),
    ("compile net.onnx --profile folder", "folder: is a directory; name a profile file"),
    ("compile net.onnx --profile text.txt", "text.txt:1: profile is not a map"),
    # Samples.
    ("compile net.onnx --calibration absent.npy", "absent.npy: No such file or directory; name a"),
    ("compile net.onnx --calibration x=", "--calibration x=: names no file"),
    ("compile net.onnx --calibration ''", "--calibration : names no file"),
    ("compile net.onnx --calibration folder", "folder: no .npy, .png or .jpg file in this direct"),
    ("compile net.onnx --calibration empty.npy", "empty.npy: is empty"),
    ("compile net.onnx --calibration cut_x.npy", "cut_x.npy: has fewer elements than its shape"),
    ("compile net.onnx --calibration shape.npy", "it has the shape 2x3x5x5 and needs Nx3x4x4"),
    ("compile net.onnx --calibration complex.npy", "'<c8' are not supported; convert them with"),
    ("compile net.onnx --calibration objects.npy", "'|O' are not supported"),
    ("compile net.onnx --calibration nan.npy", "nan.npy: holds NaN at element 92"),
    ("compile net.onnx --calibration inf.npy", "inf.npy: holds infinity at element 92"),
    ("compile net.onnx --calibration none.npy", "none.npy: holds no samples"),
    ("compile net.onnx --calibration x.npz", "x.npz: is an archive (.npz or .zip)"),
    ("compile net.onnx --calibration p.bmp", "p.bmp: is a BMP picture, which is not read; convert"),
    ("compile net.onnx --calibration p.gif", "p.gif: is a GIF picture"),
    ("compile net.onnx --calibration p.webp", "p.webp: is a WebP picture"),
    ("compile net.onnx --calibration p.tiff", "p.tiff: is a TIFF picture"),
    ("compile net.onnx --calibration bmp.png", "bmp.png: is a BMP picture"),
    ("compile net.onnx --calibration cut_p.png", "cut_p.png: libpng refuses it"),
    ("compile net.onnx --calibration text.txt", "is neither a .npy array nor a PNG or JPEG"),
    ("compile net.onnx --calibration two.ovm", "two.ovm: is a compiled model, not samples"),
    ("compile net.onnx --calibration /dev/zero", "/dev/zero: is a device or a pipe"),
    ("compile net.onnx --calibration y=x.npy", "the model has no input 'y'; it has 'x'"),
    ("compile net.onnx --calibration p.png --mean 1,2", "--mean: 2 numbers for 3 channels; give"),
    ("compile two.onnx --calibration x.npy", "several inputs, 'a', 'b'; write INPUT=PATH"),
    ("compile two.onnx --calibration a=8.npy", "input 'b' has 0 samples"),
    # Where outputs go.
    ("compile net.onnx -o net.onnx", "net.onnx: is the ONNX file itself; name another with -o"),
    ("compile net.onnx --calibration x.npy -o x.npy", "x.npy: is read and would be replaced"),
    ("compile net.onnx -o folder", "folder: cannot be written: Is a directory; name a file"),
    ("compile net.onnx -o absent/net.ovm", "absent/net.ovm: cannot be written: No such file or di"),
    ("compile net.onnx -o /dev/full", "/dev/full: cannot be written: No space left on device"),
    ("compile net.onnx --report absent/r.html", "absent/r.html: cannot be written"),
    ("compile net.onnx --report x.npy/r", "--report x.npy/r: "),
    ("compile net.onnx -o new.ovm --report blocked", "blocked/new.html: cannot be written"),
    ("info net.ovm --report absent/r.html", "absent/r.html: cannot be written"),
    ("run net.ovm --input x=x.npy --output-dir x.npy", "Not a directory"),
    ("run net.ovm --input x=y.npy --output-dir .", "y.npy: is read and would be replaced"),
    ("pack net.ovm two.ovm -o net.ovm", "net.ovm: is read and would be replaced"),
    ("pack net.ovm two.ovm -o folder", "folder: cannot be written: Is a directory"),
    ("pack net.ovm two.ovm -o absent/p.ovm", "absent/p.ovm: cannot be written"),
    ("pack net.ovm two.ovm -o /dev/full", "/dev/full: cannot be written: No space left"),
    ("sim demo-both --svg absent/a.svg", "absent/a.svg: cannot be written"),
    ("sim demo-both --svg folder", "folder: cannot be written: Is a directory"),
    ("sim demo-both --svg /dev/full", "/dev/full: cannot be written: No space left on device"),
    ("sim demo-both --png absent/a.png", "absent/a.png: cannot be written"),
    ("sim demo-both --perfetto absent/a.trace", "absent/a.trace: cannot be written"),
    ("sim demo-both --perfetto /dev/full", "/dev/full: cannot be written: No space left"),
    ("sim demo-both -o absent/a.json", "absent/a.json: cannot be written"),
    ("sim demo-both -o /dev/full", "/dev/full: cannot be written: No space left on device"),
    ("sim own.json -o own.json", "own.json: is read and would be replaced"),
    ("perf net.ovm --device embedded --frames 2 --json --records /dev/full", "/dev/full: cannot"),
    ("perf net.ovm --records absent/r.csv", "absent/r.csv: cannot be written"),
    ("perf net.ovm --records net.ovm", "net.ovm: is read and would be replaced"),
    ("perf absent.ovm --device /dev/accel/accel9", "absent.ovm: "),
    ("compare absent x.npy", "absent: No such file or directory; name a directory that overtake run"),
    ("compare x.npy absent.npy", "absent.npy: No such file or directory; name a directory"),
    ("compare folder folder", "folder: holds no .npy file; name a directory that overtake run"),
    ("compare text.txt x.npy", "text.txt: "),
    ("compare x.npy 8.npy", "x.npy and 8.npy have no output of one name and shape"),
    (f"{DEMO} --predict --output-dir net.ovm/x", "net.ovm/x: Not a directory"),
    ("demo --detector absent.ovm --large net.ovm --large-split net.ovm --predict --output-dir new",
     "absent.ovm: "),
    ("calibrate -o absent/host.yaml", "absent/host.yaml: cannot be written"),
    ("calibrate net.ovm -o net.ovm", "net.ovm: is read and would be replaced"),
    ("calibrate -o /sys/host.yaml", "/sys/host.yaml: cannot be written"),
    # Compiled models.
    *[
        (f"{command} {file}{rest}", reason)
        for command, rest in [
            ("info", ""),
            ("run", " --input x=x.npy --output-dir o"),
            ("pack", " -o p.ovm"),
            ("perf", " --device embedded --frames 2"),
            ("calibrate", ""),
        ]
        for file, reason in [
            ("absent.ovm", "absent.ovm: cannot open: No such file or directory; name a compiled"),
            ("folder", "folder: is a directory; name a compiled model"),
            ("empty.ovm", "empty.ovm: offset 0: the file is empty; compile the model again"),
            ("cut_net.ovm", "compile the model again"),
            ("text.txt", "not a model file (no OVM1 there); overtake compile writes one"),
        ]
    ],
    ("info net.onnx", "net.onnx: offset 4: not a model file"),
    ("info net.ovm --model-name other", "holds no model 'other' but net"),
    ("pack net.ovm net.ovm -o p.ovm", "is the name of two models of the pack"),
    ("run absent.onnx --input x=x.npy --output-dir o", "absent.onnx: No such file or directory"),
    ("run net.onnx --input x=x.npy --output-dir o --calibration absent.npy", "absent.npy: No such"),
    # Inputs.
    ("run net.ovm --input y=x.npy --output-dir o", "'x' is missing; add --input x=FILE.npy"),
    ("run net.ovm --input x=x.npy --input y=x.npy --output-dir o", "no such input; it has 'x'"),
    ("run net.ovm --input x=absent.npy --output-dir o", "absent.npy: No such file or directory"),
    ("run net.ovm --input x=folder --output-dir o", "folder: is a directory; name a readable"),
    ("run net.ovm --input x=empty.npy --output-dir o", "empty.npy: is empty"),
    ("run net.ovm --input x=cut_x.npy --output-dir o", "cut_x.npy: has fewer elements"),
    ("run net.ovm --input x=shape.npy --output-dir o", "has the shape 2x3x5x5, but input 'x' needs"),
    ("run net.ovm --input x=complex.npy --output-dir o", "'<c8' are not supported"),
    ("run net.ovm --input x=nan.npy --output-dir o", "nan.npy: holds NaN at element 92"),
    ("run net.ovm --input x=none.npy --output-dir o", "none.npy: holds no samples"),
    ("run net.ovm --input x=p.bmp --output-dir o", "p.bmp: is a BMP picture"),
    ("run net.ovm --input x=text.txt --output-dir o", "is neither a .npy array nor a PNG or JPEG"),
    ("run net.ovm --input x=p.png --output-dir o --mean 1,2", "2 numbers for 3 channels; give"),
    ("run two.ovm --input a=8.npy --input b=x.npy --output-dir o", "but input 'b' needs Nx8x4x4"),
    # Devices.
    ("run net.ovm --input x=x.npy --output-dir o --device nowhere", "not auto, embedded, kernel"),
    ("run net.ovm --input x=x.npy --output-dir o --device /dev/null", "not an Overtake device"),
    # Scenarios.
    ("sim absent", "absent: no such file, nor is a scenario of that name bundled"),
    ("sim folder", "folder: is a directory; name a JSON file"),
    ("sim empty", "empty: is empty; name a JSON file"),
    ("sim cut.json", "cut.json: parse error at line 1"),
    ("sim text.txt", "text.txt: parse error at line 1"),
    ("sim demo-both --set a=b", "a: unknown key"),
    ("sim demo-both --repeat 2 --columns p42", 'no column is "p42"; there are '),
]

# What works, and says one thing on stderr.
WARNINGS = [
    ("run net.ovm --device embedded --input x=x.npy --mean 5 --output-dir w/o",
     "--mean, --scale: are for pictures; x.npy is an array and stays as it is"),
    ("compile net.onnx --calibration mixed -o w/a.ovm",
     "mixed: left out, being no .npy, .png or .jpg file: notes.txt, p.bmp, sub/"),
    ("compile net.onnx --calibration p.png -o w/a.ovm", "p.png: pictures go in as pixels 0..255"),
    ("compile net.onnx --calibration pictures -o w/a.ovm", "pictures: pictures go in as pixels"),
    ("compile net.onnx --calibration jpeg.dat -o w/a.ovm", "jpeg.dat: pictures go in as pixels"),
    ("compile net.onnx --calibration x.npy --mean 5 -o w/a.ovm", "--mean, --scale: are for pictu"),
    ("compile net.onnx -o w/a.ovm", "calibrated with random noise"),
    ("run net.ovm --input x=p.png --output-dir w --device embedded", "pictures go in as pixels"),
    ("run net.onnx --input x=nan.npy --output-dir w", "nan.npy: holds NaN at element 92, and outp"),
]  # fmt: skip

# What works, and says nothing on stderr.
SILENT = [
    "compile net.onnx --calibration p.png --mean 127 --scale 0.01 -o w/a.ovm",
    "compile net.onnx --calibration p.png --mean -1,2.5,3 -o w/a.ovm",
    "compile net.onnx --calibration p.png --scale 1 -o w/a.ovm",
    "compile net.onnx --calibration wrong_suffix.txt -o w/a.ovm",
    "run net.ovm --input x=p.png --scale 1 --output-dir w --device embedded",
    "info net.ovm --json --report w/r.html",
]


def tree(directory):
    return {
        str(path.relative_to(directory)): path.read_bytes() if path.is_file() else None
        for path in directory.rglob("*")
    }


def slow_network():
    shape = (1, 512, 8, 8)
    weights = {"w": np.ones((512, 512, 3, 3), "f4") / 4608}
    values = ["x", *(f"v{index}" for index in range(7)), "y"]
    nodes = [
        node("Conv", [values[index], "w"], [values[index + 1]], pads=[1, 1, 1, 1])
        for index in range(8)
    ]
    return model(nodes, {"x": shape}, {"y": shape}, weights)


def make_pictures(directory):
    picture = Image.fromarray(np.arange(8 * 8 * 3, dtype="u1").reshape(8, 8, 3))
    for suffix in ("png", "bmp", "gif", "webp", "tiff"):
        picture.save(directory / f"p.{suffix}")
    picture.save(directory / "bmp.png", "BMP")
    picture.save(directory / "jpeg.dat", "JPEG")
    (directory / "cut_p.png").write_bytes((directory / "p.png").read_bytes()[:60])
    (directory / "pictures").mkdir()
    for index in range(3):
        picture.save(directory / f"pictures/{index}.png")


def make_arrays(directory):
    samples = np.random.default_rng(1).uniform(-1, 1, (4, 3, 4, 4)).astype("f4")
    arrays = {
        "x": samples,
        "y": samples,
        "8": np.zeros((1, 8, 4, 4), "f4"),
        "shape": np.zeros((2, 3, 5, 5), "f4"),
        "complex": samples.astype("c8"),
        "objects": np.array([{}], dtype=object),
        "none": samples[:0],
    }
    for name, odd in (("nan", np.nan), ("inf", np.inf)):
        arrays[name] = samples.copy()
        arrays[name][1, 2, 3, 0] = odd
    for name, array in arrays.items():
        np.save(directory / f"{name}.npy", array)
    np.savez(directory / "x.npz", x=samples)
    shutil.copy(directory / "x.npy", directory / "wrong_suffix.txt")


def make_others(directory):
    for name in ("empty", "empty.npy", "empty.ovm"):
        (directory / name).touch()
    (directory / "text.txt").write_text("These are words, and not a network.\n")
    (directory / "cut.json").write_text("{")
    (directory / "key.yaml").write_text("model_parameters:\n  onnx_model: net.onnx\n")
    shutil.copy(SOURCE / "scenarios/demo-both.json", directory / "own.json")
    for name in ("net.onnx", "net.ovm", "x.npy"):
        data = (directory / name).read_bytes()
        (directory / f"cut_{name}").write_bytes(data[: len(data) * 2 // 3])
    (directory / "folder").mkdir()
    (directory / "folder/notes.txt").touch()
    (directory / "mixed/sub").mkdir(parents=True)
    for name in ("x.npy", "p.bmp"):
        shutil.copy(directory / name, directory / "mixed")
    (directory / "mixed/notes.txt").touch()
    (directory / "mixed/.hidden").touch()
    (directory / "blocked/new.html").mkdir(parents=True)


class WrongInputs(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(directory.cleanup)
        cls.directory = pathlib.Path(directory.name)
        save(relu(), cls.directory / "net.onnx")
        save(two_inputs(), cls.directory / "two.onnx")
        make_arrays(cls.directory)
        make_pictures(cls.directory)
        for name in ("net", "two"):
            cls.overtake(f"compile {name}.onnx -q", check=True)
        make_others(cls.directory)

    @classmethod
    def overtake(cls, line, **options):
        options = {"capture_output": True, "text": True, "check": False, **options}
        return subprocess.run([BINARY, *shlex.split(line)], cwd=cls.directory, **options)

    def assert_one_line(self, result, status, said):
        self.assertEqual(result.returncode, status, result.stderr)
        self.assertRegex(result.stderr, r"\Aovertake: [^\n]+\n\Z")
        self.assertIn(said, result.stderr)

    def assert_fails(self, line, status, said, **options):
        """And leaves everything as it was."""
        before = tree(self.directory)
        result = self.overtake(line, **options)
        self.assert_one_line(result, status, said)
        self.assertIn(result.stdout, ("", None))
        after = tree(self.directory)
        self.assertEqual(sorted(after), sorted(before))
        self.assertEqual(after, before)
        return result.stderr

    def scratch(self):
        """The folder w, which is gone behind the test."""
        (self.directory / "w").mkdir()
        self.addCleanup(shutil.rmtree, self.directory / "w")
        return self.directory / "w"

    def test_bad_usage_is_told_with_the_help_of_the_subcommand(self):
        for line, said in USAGE:
            with self.subTest(line):
                told = self.assert_fails(line, 2, said)
                subcommand = line.split(" ")[0]
                command = f"overtake {subcommand}" if subcommand in SUBCOMMANDS else "overtake"
                self.assertTrue(told.endswith(f"; see {command} --help\n"), told)

    def test_every_subcommand_has_its_lines(self):
        listed = self.overtake("--help", check=True).stdout.partition("Subcommands:\n")[2]
        subcommands = set(re.findall(r"^  ([a-z]+) ", listed, re.MULTILINE))
        self.assertLessEqual(subcommands, set(SUBCOMMANDS))
        self.assertLessEqual(subcommands, {line.split(" ")[0] for line, _ in USAGE})
        self.assertLessEqual(subcommands - {"devices", "completion"},
                             {line.split(" ")[0] for line, _ in FAILURES})

    def test_what_replaces_a_file_keeps_its_mode_and_the_link_to_it(self):
        scratch = self.scratch()
        (scratch / "real.ovm").touch(mode=0o600)
        (scratch / "link.ovm").symlink_to("real.ovm")
        self.overtake("compile net.onnx --calibration x.npy -o w/link.ovm", check=True)
        self.assertTrue((scratch / "link.ovm").is_symlink())
        self.assertGreater((scratch / "real.ovm").stat().st_size, 100)
        self.assertEqual((scratch / "real.ovm").stat().st_mode & 0o777, 0o600)

    def test_names_that_are_no_unicode_are_told_in_json_as_far_as_they_are(self):
        scratch = self.scratch()
        name = os.fsencode(scratch) + b"/\xff.ovm"
        for command in (["compile", "net.onnx", "--calibration", "x.npy", "-o", name],
                        ["run", name, "--device", "embedded", "--input", "x=x.npy", "--output-dir",
                         os.fsencode(scratch) + b"/\xfe"]):
            result = subprocess.run([BINARY, *command, "--json"], cwd=self.directory,
                                    capture_output=True, check=False)
            self.assertEqual((result.returncode, result.stderr), (0, b""))
            self.assertIn("\ufffd", json.dumps(json.loads(result.stdout), ensure_ascii=False))

    def test_failures_are_told_in_one_line_that_names_place_and_reason(self):
        for line, said in FAILURES:
            with self.subTest(line):
                self.assert_fails(line, 1, said)

    def test_warnings_are_one_line(self):
        scratch = self.scratch()
        for line, said in WARNINGS:
            with self.subTest(line):
                result = self.overtake(line)
                self.assert_one_line(result, 0, said)
                self.assertNotEqual(list(scratch.iterdir()), [])

    def test_what_is_right_is_not_warned_of(self):
        self.scratch()
        for line in SILENT:
            with self.subTest(line):
                result = self.overtake(line)
                self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_compile_says_how_many_samples_it_took(self):
        self.scratch()
        for samples, count in (("x.npy", "4 samples"), ("p.png --scale 1", "1 sample"),
                               ("pictures --scale 1", "3 samples")):
            printed = self.overtake(f"compile net.onnx --calibration {samples} -o w/a.ovm").stdout
            self.assertTrue(printed.endswith(f", calibrated with {count}\n"), printed)

    def test_mean_and_scale_mean_to_calibration_what_they_mean_to_run(self):
        scratch = self.scratch()
        pixels = np.asarray(Image.open(self.directory / "p.png").resize((4, 4), Image.NEAREST))
        Image.fromarray(pixels).save(self.directory / "w/p.png")
        planes = pixels.transpose(2, 0, 1).astype("f4")
        mean, scale = np.array([10, 20, 30], "f4"), np.array([0.5, 0.25, 0.125], "f4")
        np.save(scratch / "p.npy", (planes - mean[:, None, None]) * scale[:, None, None])
        options = "--mean 10,20,30 --scale 0.5,0.25,0.125"
        self.overtake(f"compile net.onnx --calibration w/p.png {options} -o w/a.ovm", check=True)
        self.overtake("compile net.onnx --calibration w/p.npy -o w/b.ovm", check=True)
        self.assertEqual((scratch / "a.ovm").read_bytes(), (scratch / "b.ovm").read_bytes())

    # A full disk.

    def test_output_that_does_not_arrive_is_a_failure(self):
        self.scratch()
        for line in (
            "compile net.onnx --calibration x.npy -o w/a.ovm",
            "compile --supported-ops",
            "info net.ovm",
            "info net.ovm --json",
            "run net.ovm --input x=x.npy --output-dir w --device embedded",
            "pack net.ovm two.ovm -o w/p.ovm",
            "perf net.ovm --device embedded --frames 2",
            "sim demo-alone",
            "sim demo-alone --summary",
            "sim --list",
            "calibrate net.ovm --runs 1",
        ):
            with self.subTest(line), open("/dev/full", "w", encoding="utf-8") as full:
                result = self.overtake(line, capture_output=False, stdout=full,
                                       stderr=subprocess.PIPE)
                self.assert_one_line(
                    result, 1, "standard output: cannot be written: No space left on device"
                )

    def test_a_full_disk_leaves_no_half_file_and_no_word_of_success(self):
        def nearly_full():
            resource.setrlimit(resource.RLIMIT_FSIZE, (40, 40))

        for line, said in (
            ("compile net.onnx --calibration x.npy -o new.ovm", "new.ovm: cannot be written"),
            ("compile net.onnx --calibration x.npy --report new", "net.ovm: cannot be written"),
            ("compile -c key.yaml", "model_output/"),
            ("info net.ovm --report new/deep", "new/deep/net.html: cannot be written"),
            ("run net.onnx --input x=x.npy --output-dir new/deep", "y.npy: cannot be written"),
            ("run two.onnx --input a=8.npy --input b=8.npy --output-dir new", "cannot be written"),
            ("pack net.ovm two.ovm -o new.ovm", "new.ovm: cannot be written"),
            ("perf net.ovm --device embedded --frames 9 --json --records new.csv",
             "new.csv: cannot be written"),
            ("sim demo-alone -o new.json", "new.json: cannot be written"),
            ("sim demo-alone --svg new.svg", "new.svg: cannot be written"),
            ("sim demo-alone --perfetto new.trace", "new.trace: cannot be written"),
            ("calibrate --runs 1 -o new.yaml", "new.yaml: cannot be written"),
        ):  # fmt: skip
            with self.subTest(line):
                before = tree(self.directory)
                result = self.overtake(line, preexec_fn=nearly_full)
                self.assertEqual(result.returncode, 1, result.stderr)
                self.assertEqual(result.stdout, "")
                self.assertRegex(result.stderr.splitlines()[-1], "^overtake: .*File too large; make")
                self.assertIn(said, result.stderr)
                self.assertEqual(sorted(tree(self.directory)), sorted(before))

    def test_a_directory_that_is_read_only(self):
        locked = self.directory / "locked"
        locked.mkdir()
        self.addCleanup(locked.rmdir)
        locked.chmod(0o555)
        # Root may write anywhere, but for this.
        drop = ["setpriv", "--bounding-set=-dac_override", "--inh-caps=-dac_override"]
        prefix = drop if os.geteuid() == 0 else []
        for line in (
            "compile net.onnx -o locked/a.ovm",
            "compile net.onnx --report locked/new",
            "info net.ovm --report locked",
            "run net.ovm --input x=x.npy --output-dir locked",
            "run net.ovm --input x=x.npy --output-dir locked/new",
            "pack net.ovm two.ovm -o locked/a.ovm",
            "sim demo-alone -o locked/a.json",
            "sim demo-alone --svg locked/a.svg",
            "calibrate -o locked/a.yaml",
        ):
            with self.subTest(line):
                before = tree(self.directory)
                result = subprocess.run(
                    [*prefix, BINARY, *shlex.split(line)],
                    cwd=self.directory, capture_output=True, text=True, check=False,
                )  # fmt: skip
                self.assert_one_line(result, 1, "Permission denied")
                self.assertIn("locked", result.stderr)
                self.assertEqual(result.stdout, "")
                self.assertEqual(sorted(tree(self.directory)), sorted(before))

    # Who goes away in the middle.

    def test_an_interrupt_at_a_terminal_ends_with_one_line_and_leaves_nothing(self):
        samples = np.load(GLYPHS / "calibration.npy")
        scratch = self.scratch()
        np.save(scratch / "many.npy", np.tile(samples, (20000 // len(samples), 1, 1, 1)))
        np.save(scratch / "slow.npy", np.ones((200, 512, 8, 8), "f4"))
        save(slow_network(), scratch / "slow.onnx")
        glyphs = f"{GLYPHS}/glyphs.onnx"
        for line in (
            f"compile {glyphs} --calibration w/many.npy --calibration-method best -o new.ovm "
            "--report new",
            "run w/slow.onnx --input x=w/slow.npy --output-dir new",
            "sim demo-both --repeat 1000000 --threads 1",
            "sim --fuzz 1000000000 --threads 1 -o new.json",
            "calibrate --runs 1000 -o new.yaml",
        ):
            with self.subTest(line):
                before = tree(self.directory)
                status, printed = self.interrupted_at_its_progress_bar(line)
                self.assertEqual(status, -signal.SIGINT, printed)
                self.assertRegex(printed, r"\r\x1b\[Kovertake: interrupted\r\n\Z")
                self.assertEqual(sorted(tree(self.directory)), sorted(before))

    def interrupted_at_its_progress_bar(self, line):
        master, slave = pty.openpty()
        with subprocess.Popen(
            [BINARY, *shlex.split(line)], cwd=self.directory,
            stdin=slave, stdout=subprocess.DEVNULL, stderr=slave,
        ) as process:  # fmt: skip
            os.close(slave)
            printed = b""
            while chunk := self.read(master):
                printed += chunk
                if b"%" in chunk and b"interrupted" not in printed:
                    process.send_signal(signal.SIGINT)
            status = process.wait()
        os.close(master)
        return status, printed.decode()

    @staticmethod
    def read(descriptor):
        try:
            return os.read(descriptor, 4096)
        except OSError:  # the other side is closed
            return b""

    def test_an_interrupt_without_a_terminal_is_one_line(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with subprocess.Popen(
                [BINARY, "sim", "demo-both"], cwd=self.directory, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            ) as process:  # fmt: skip
                process.stdout.read(1)  # and no more: it waits for room in the pipe
                process.send_signal(number)
                self.assertEqual(process.wait(), -number)
                self.assertEqual(process.stderr.read(), b"overtake: interrupted\n")

    def test_who_ignores_interrupts_is_not_interrupted(self):
        def ignore():
            signal.signal(signal.SIGINT, signal.SIG_IGN)

        with subprocess.Popen(
            [BINARY, "sim", "demo-both"], stdout=subprocess.PIPE, preexec_fn=ignore
        ) as process:
            process.stdout.read(1)
            process.send_signal(signal.SIGINT)
            process.stdout.read()
            self.assertEqual(process.wait(), 0)

    def test_a_reader_that_goes_away_ends_the_command_in_silence(self):
        for line in ("info net.ovm", "sim demo-both", "compile --supported-ops", "--help"):
            with self.subTest(line):
                reader, writer = os.pipe()
                os.close(reader)
                result = self.overtake(line, capture_output=False, stdout=writer,
                                       stderr=subprocess.PIPE)
                self.assertEqual((result.returncode, result.stderr), (-signal.SIGPIPE, ""))
                result = self.overtake(line, capture_output=False, stdout=writer,
                                       stderr=subprocess.PIPE, restore_signals=False)
                os.close(writer)
                self.assert_one_line(result, 1, "standard output: cannot be written: Broken pipe")

    def test_without_terminal_and_environment(self):
        self.scratch()
        for line in (
            "compile net.onnx --calibration x.npy -o w/a.ovm",
            "run w/a.ovm --input x=x.npy --output-dir w --device embedded",
            "sim demo-alone --summary",
        ):
            with self.subTest(line):
                result = self.overtake(line, stdin=subprocess.DEVNULL, env={},
                                       start_new_session=True)
                self.assertEqual((result.returncode, result.stderr), (0, ""))
                self.assertNotIn("\x1b", result.stdout)


if __name__ == "__main__":
    unittest.main()
