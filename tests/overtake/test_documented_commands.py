# SPDX-License-Identifier: MIT
"""Every command that the pages tell a reader to paste is run, from a copy of the project's directory as
`make demo` leaves it, in the order in which a page has them, and succeeds. One that is not run here
has to be named below, with what runs it instead.
"""

import os
import pathlib
import re
import subprocess
import tempfile
import unittest

from pages import blocks, pasted_commands

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BINARY = pathlib.Path(os.environ.get("OVERTAKE", str(SOURCE / "build/bin/overtake")))
BUILD = BINARY.resolve().parents[1]
PAGES = [SOURCE / name for name in ("README.md", "CONTRIBUTING.md", "models/README.md")] + [
    page for page in sorted((SOURCE / "docs").rglob("*.md")) if page.name != "isa.md"  # formulas
]

# The test that runs a command instead: a file, and a text that it has to contain.
ELSEWHERE = [
    (r"make (demo|test)\b(?! LARGE)", "scripts/fresh.sh", "make demo"),
    (r"make zoo|build/zoo/examples/read_text |make demo LARGE|LARGE=build/zoo", "scripts/run-soak.sh", "make zoo"),
    (r"npm install --prefix build/onnxruntime|make agreement-onnxruntime", "scripts/run-soak.sh",
     "make agreement-onnxruntime"),
    (r"make networks", "scripts/run-soak.sh", "make networks"),
    (r"make kernel-matrix", "scripts/run-soak.sh", "make kernel-matrix"),
    (r"(sudo )?insmod |make kmod && ", "tests/overtake/run-documented", "pasted_commands"),
    (r"make deb", "scripts/fresh.sh", "make deb"),
    (r"sudo apt-get install ./build/deb/", "tests/packages/use-and-purge",
     "apt-get install -y --no-install-recommends ./*.deb"),
    (r"sudo apt-get purge overtake", "tests/packages/use-and-purge", "apt-get purge -y $names"),
    (r"make (un)?install$", "tests/packages/check-install", "scripts/install.sh uninstall"),
    (r"make install-kmod", "tests/packages/run-kernel", "install-module.sh install"),
    (r"make uninstall-kmod", "tests/packages/run-kernel", "install-module.sh uninstall"),
    (r"overtake metrics -o /var/lib/prometheus|mkdir -p /etc/cdi && overtake cdi", "tests/overtake/run-metrics",
     "pasted_commands"),
    (r"sudo modprobe overtake", "tests/packages/load-module", "modprobe overtake"),
    (r"sudo usermod --append --groups render", "tests/packages/run-kernel",
     "usermod --append --groups render"),
    (r"sudo setcap cap_sys_nice\+ep", "tests/packages/run-kernel", "setcap cap_sys_nice+ep"),
    # The error text has the same words; the test below takes them from there.
    (r"sudo setpriv --reuid", "tests/packages/run-kernel", 'check "the remedy works"'),
    (r"tests/vm/run -- tests/packages/run-kernel", "tests/vm/suites", "tests/packages/run-kernel"),
    (r"sudo bpftrace tools/observe/bpf/fc-timeline.bt", "tests/bpf/run", "bpftrace -B line tools/observe/bpf/fc-timeline.bt"),
    (r"sudo bpftrace tools/observe/bpf/late-jobs.bt 20", "tests/bpf/run-scripts", "late-jobs"),
    (r"tests/vm/run -- tests/kmod/run-all", "tests/vm/suites", "tests/kmod/run-all"),
    (r"scripts/prepare-networks.sh && tests/vm/run -- tests/models/run-kernel", "tests/vm/suites",
     "tests/models/run-kernel"),
    (r"models/train_glyphs.py", "scripts/run-soak.sh", "models/train_glyphs.py --output-dir"),
    (r"cmake --preset release && ninja -C build/release layout_benchmark", "scripts/run-soak.sh",
     "ninja -C build/release layout_benchmark"),
    (r"build/release/tests/layout_benchmark", "scripts/run-soak.sh",
     "build/release/tests/layout_benchmark 40"),
]


def elsewhere(command):
    """Returns (file, text in it) of the test that runs the command instead, or None."""
    for pattern, path, text in ELSEWHERE:
        if re.match(pattern, command):
            return path, text
    return None


class DocumentedCommands(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)
        (self.directory / "build").mkdir()
        for name in ("models", "scenarios", "scripts", "tools", "examples", "libruntime", "uapi"):
            (self.directory / name).symlink_to(SOURCE / name)
        for path in (SOURCE / "examples").glob("*.json"):
            (self.directory / path.name).symlink_to(path)
        (self.directory / "build/bin").symlink_to(BINARY.parent)
        (self.directory / "build/release").symlink_to(BUILD / "release")

    def provide(self, page):
        """Writes the files that a page gives the reader, and those that it calls the reader's
        own."""
        for _, language, lines in blocks(page):
            name = re.fullmatch(r"# (\S+\.yaml)", lines[0]) if language == "yaml" and lines else None
            if name:
                (self.directory / name[1]).write_text("\n".join(lines))
        own = self.directory / "net.onnx"
        if not own.exists():
            own.symlink_to(SOURCE / "models/glyphs/glyphs.onnx")

    def run_command(self, command):
        environment = dict(os.environ)
        environment["PATH"] = f"{BINARY.parent}:/usr/bin:/bin"
        return subprocess.run(
            ["bash", "-c", command], cwd=self.directory, env=environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)

    def test_pasted_commands_succeed(self):
        run = 0
        for page in PAGES:
            self.provide(page)
            for line, command in pasted_commands(page):
                with self.subTest(page=page.name, line=line, command=command):
                    instead = elsewhere(command)
                    if instead:
                        self.assertIn(instead[1], (SOURCE / instead[0]).read_text())
                        continue
                    run += 1
                    result = self.run_command(command)
                    self.assertEqual(result.returncode, 0, result.stdout)
        self.assertGreaterEqual(run, 15)

    def test_the_remedy_for_255_is_the_one_of_the_error_text(self):
        source = (SOURCE / "libruntime/src/kernel/kernel_context.cpp").read_text()
        text = re.sub(r'"\s+"', "", source)
        remedy = re.search(r"put '(sudo setpriv [^']*)' before the command", text)[1]
        self.assertIn(f"    {remedy} \\\n", (SOURCE / "docs/use/devices.md").read_text())

    def test_cases_named_in_the_pages_exist(self):
        listed = subprocess.run([BUILD / "release/tests/kmod_tests", "--list"], text=True,
                                stdout=subprocess.PIPE, check=True).stdout.split()
        named = 0
        for page in PAGES:
            for line, command in pasted_commands(page):
                if not command.startswith("tests/vm/run -- tests/kmod/run-all"):
                    continue
                for prefix in command.split()[3:]:
                    named += 1
                    with self.subTest(page=page.name, line=line, case=prefix):
                        self.assertTrue(any(name.startswith(prefix) for name in listed))
        self.assertGreaterEqual(named, 8)


if __name__ == "__main__":
    unittest.main()
