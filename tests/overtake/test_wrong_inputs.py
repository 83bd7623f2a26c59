# SPDX-License-Identifier: MIT
"""The messages of the overtake command for wrong inputs, and the files that a failing run leaves.

Each row of a table in wrong_inputs.py is a command line and what it must say: one line on stderr that begins with
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

import overtake_command  # noqa: E402
from overtake_command import BINARY  # noqa: E402
from small_models import model, node, relu, save, two_inputs  # noqa: E402
from wrong_inputs import FAILURES, SILENT, USAGE, WARNINGS  # noqa: E402

GLYPHS = SOURCE / "models/glyphs"

SUBCOMMANDS = ("compile", "info", "run", "pack", "perf", "devices", "serve", "metrics", "cdi", "compare",
               "sim", "calibrate", "profile", "demo", "completion", "top", "trace", "latency")  # fmt: skip

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
        cls.overtake("compile net.onnx -q --class cpu -o cpu_only.ovm", check=True)
        make_others(cls.directory)

    @classmethod
    def overtake(cls, line, **options):
        words = shlex.split(line)
        if not options and words and overtake_command.is_served(words):
            return overtake_command.server.run(*words, directory=cls.directory)
        return cls.overtake_process(line, **options)

    @classmethod
    def overtake_process(cls, line, **options):
        options = {"capture_output": True, "text": True, "check": False, **options}
        return subprocess.run([BINARY, *shlex.split(line)], cwd=cls.directory, **options)

    def assert_one_line(self, result, status, said):
        self.assertEqual(result.returncode, status, result.stderr)
        self.assertRegex(result.stderr, r"\Aovertake: [^\n]+\n\Z")
        self.assertIn(said, result.stderr)

    def assert_fails(self, line, status, said, **options):
        """The command fails and changes no file."""
        before = tree(self.directory)
        result = self.overtake(line, **options)
        self.assert_one_line(result, status, said)
        self.assertIn(result.stdout, ("", None))
        after = tree(self.directory)
        self.assertEqual(sorted(after), sorted(before))
        self.assertEqual(after, before)
        return result.stderr

    def scratch(self):
        """Makes the folder w, which is removed after the test."""
        (self.directory / "w").mkdir()
        self.addCleanup(shutil.rmtree, self.directory / "w")
        return self.directory / "w"

    def test_bad_usage_is_reported_with_the_help_of_the_subcommand(self):
        for line, said in USAGE:
            with self.subTest(line):
                told = self.assert_fails(line, 2, said)
                subcommand = line.split(" ")[0]
                command = f"overtake {subcommand}" if subcommand in SUBCOMMANDS else "overtake"
                self.assertTrue(told.endswith(f"; see {command} --help\n"), told)

    def test_every_subcommand_has_its_lines(self):
        listed = self.overtake("--help", check=True).stdout
        subcommands = set(re.findall(r"^  ([a-z][a-z]+) ", listed, re.MULTILINE))
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

    def test_names_that_are_no_unicode_are_given_in_json_as_far_as_they_are(self):
        scratch = self.scratch()
        name = os.fsencode(scratch) + b"/\xff.ovm"
        for command in (["compile", "net.onnx", "--calibration", "x.npy", "-o", name],
                        ["run", name, "--device", "embedded", "--input", "x=x.npy", "--output-dir",
                         os.fsencode(scratch) + b"/\xfe"]):
            result = subprocess.run([BINARY, *command, "--json"], cwd=self.directory,
                                    capture_output=True, check=False)
            self.assertEqual((result.returncode, result.stderr), (0, b""))
            self.assertIn("\ufffd", json.dumps(json.loads(result.stdout), ensure_ascii=False))

    def test_failures_are_reported_in_one_line_that_names_place_and_reason(self):
        for line, said in FAILURES:
            with self.subTest(line):
                self.assert_fails(line, 1, said)

    def test_a_process_of_its_own_says_the_same(self):
        served = [line for line, _ in USAGE + FAILURES if overtake_command.is_served(shlex.split(line) or [""])]
        self.assertGreater(len(served), 100)
        for line in served[::8]:
            with self.subTest(line):
                alone, shared = self.overtake_process(line), self.overtake(line)
                self.assertEqual((alone.returncode, alone.stdout, alone.stderr),
                                 (shared.returncode, shared.stdout, shared.stderr))

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
        # Arrays stay as they are; the model keeps the options for pictures that it is to run.
        self.overtake(f"compile net.onnx --calibration w/p.npy {options} -o w/b.ovm", check=True)
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
            ("profile net.ovm --device embedded --processors cpu -o new.json", "new.json: cannot be written"),
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
        # Root may write anywhere unless it loses this capability.
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
            "profile net.ovm --device embedded --processors cpu -o locked/a.json",
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

    # A client that goes away in the middle.

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
            "calibrate --runs 1000 -o new.yaml",
            "profile net.ovm --device embedded --processors cpu --runs 100000 -o new.json",
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
        except OSError:  # the other side has closed the pipe
            return b""

    def test_an_interrupt_without_a_terminal_is_one_line(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with subprocess.Popen(
                [BINARY, "sim", "demo-both"], cwd=self.directory, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            ) as process:  # fmt: skip
                process.stdout.read(1)  # the program then waits for room in the pipe
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
