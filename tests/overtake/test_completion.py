# SPDX-License-Identifier: MIT
"""The completion script for bash: it has every subcommand and option that --help shows, and bash completes with it."""
import os
import re
import shlex
import subprocess
import unittest

OVERTAKE = os.environ["OVERTAKE"]


def overtake(*arguments):
    return subprocess.run([OVERTAKE, *arguments], capture_output=True, text=True, timeout=60,
                          check=True).stdout


def options_in(text):
    """Returns the spellings of the options that a --help shows, in the column where they begin."""
    found = set()
    for line in text.splitlines():
        if match := re.match(r"  ((?:-{1,2}[a-z][-a-z0-9]*,?)+)", line):
            found.update(match[1].split(","))
    return found


class Completion(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.script = overtake("completion", "bash")
        cls.subcommands = set(re.findall(r"^  ([a-z][-a-z]+) ", overtake("--help"), re.MULTILINE))

    def complete(self, line):
        """Returns what bash offers behind a command line that ends in the word to be completed."""
        words = line.replace("=", " = ").split(" ")
        program = (f"{self.script}\nCOMP_WORDS=({' '.join(map(shlex.quote, words))})\n"
                   f"COMP_CWORD={len(words) - 1}\n_overtake\nprintf '%s\\n' \"${{COMPREPLY[@]}}\"")
        run = subprocess.run(["bash", "-eu", "-c", program], capture_output=True, text=True,
                             timeout=60, check=True)
        self.assertEqual(run.stderr, "")
        return set(run.stdout.split())

    def test_every_subcommand_is_offered(self):
        self.assertLessEqual({"compile", "run", "perf", "sim"}, self.subcommands)
        offered = {word for word in self.complete("overtake ") if not word.startswith("-")}
        self.assertEqual(offered, self.subcommands)
        self.assertEqual(self.complete("overtake per"), {"perf"})

    def test_every_option_is_offered(self):
        self.assertEqual(self.complete("overtake -"), options_in(overtake("--help")))
        for subcommand in self.subcommands:
            with self.subTest(subcommand=subcommand):
                options = options_in(overtake(subcommand, "--help"))
                self.assertIn("--help", options)
                self.assertEqual(self.complete(f"overtake {subcommand} -"), options)

    def test_help_shows_nothing_of_the_parsers_own(self):
        for subcommand in self.subcommands:
            with self.subTest(subcommand=subcommand):
                text = overtake(subcommand, "--help")
                for word in ("{", "Excludes", " in ["):
                    self.assertNotIn(word, text)

    def test_values_that_are_words_are_offered(self):
        modes = {"functional", "timed", "both"}
        self.assertEqual(self.complete("overtake perf --mode "), modes)
        self.assertEqual(self.complete("overtake perf --mode t"), {"timed"})
        self.assertEqual(self.complete("overtake perf --mode="), modes)
        self.assertEqual(self.complete("overtake perf --mode=b"), {"both"})
        self.assertEqual(self.complete("overtake run net.ovm --device e"), {"embedded"})
        self.assertEqual(self.complete("overtake compile --calibration-method "),
                         {"min-max", "percentile", "kl", "mse", "best"})

    def test_files_are_left_to_the_shell(self):
        self.assertEqual(self.complete("overtake run ne"), set())
        self.assertEqual(self.complete("overtake perf net.ovm --records "), set())
        self.assertIn("complete -o default ", self.script)

    def test_other_shells_are_refused(self):
        run = subprocess.run([OVERTAKE, "completion", "csh"], capture_output=True, text=True,
                             timeout=60, check=False)
        self.assertEqual((run.returncode, run.stdout), (2, ""))


if __name__ == "__main__":
    unittest.main()
