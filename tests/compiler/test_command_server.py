# SPDX-License-Identifier: MIT
"""Tests may call the process that takes commands as they call the overtake command."""

import os
import signal
import tempfile
import unittest
from unittest import mock

import command_server
import overtake_command


class Commands(unittest.TestCase):
    def setUp(self):
        self.server = overtake_command.make_server()
        self.addCleanup(self.server.stop)

    def process(self):
        return self.server._process  # pylint: disable=protected-access

    def test_answers_are_those_of_a_process(self):
        for arguments in (("sim", "--list"), ("sim", "demo-alone", "--summary"), ("--version",), ("run", "--help"),
                          ("info", "none.ovm"), ("compile", "--nonsense"), ("sim", "demo-alone", "--seed", "-1")):
            with self.subTest(arguments):
                served = self.server.run(*arguments)
                alone = overtake_command.overtake_alone(*arguments)
                self.assertEqual((served.returncode, served.stdout, served.stderr),
                                 (alone.returncode, alone.stdout, alone.stderr))

    def test_a_refusal_has_the_status_and_what_the_command_says(self):
        with self.assertRaisesRegex(command_server.Refused, r"status 1: overtake: none\.ovm: .*No such file"):
            self.server("info", "none.ovm")

    def test_a_command_runs_where_its_caller_is(self):
        with tempfile.TemporaryDirectory() as directory:
            self.server.run("sim", "demo-alone", "-o", "timeline.json", directory=directory)
            self.assertEqual(os.listdir(directory), ["timeline.json"])

    def test_a_death_is_reported_and_the_next_command_runs(self):
        self.server("--version")
        first = self.process()
        first.send_signal(signal.SIGKILL)
        os.waitid(os.P_PID, first.pid, os.WEXITED | os.WNOWAIT)
        with self.assertRaisesRegex(AssertionError, "died with -9"):
            self.server("--version")
        self.assertIn("overtake", self.server("--version"))
        self.assertNotEqual(self.process().pid, first.pid)

    def test_a_command_that_takes_too_long_is_ended(self):
        self.server("--version")
        process = self.process()
        with mock.patch.object(command_server, "TIME_LIMIT", 0.2):
            with self.assertRaisesRegex(AssertionError, "has not ended after 0.2 s"):
                self.server("sim", "demo-both", "--repeat", 1000000)
            self.assertEqual(process.returncode, -9)
        self.assertIn("overtake", self.server("--version"))

    def test_a_crash_at_the_end_is_an_error(self):
        self.server("--version")
        self.process().send_signal(signal.SIGKILL)
        with self.assertRaisesRegex(AssertionError, "ended with -9"):
            self.server.stop()

    def test_a_forked_process_has_one_of_its_own(self):
        self.server("--version")
        child = os.fork()
        if child == 0:
            os._exit(0 if "overtake" in self.server("--version") else 1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        self.assertIn("overtake", self.server("--version"))

    def test_another_environment_has_another_process(self):
        self.server("--version")
        first = self.process()
        with mock.patch.dict(os.environ, {"OVERTAKE_TEST_WORD": "x"}):
            self.server("--version")
            self.assertNotEqual(self.process().pid, first.pid)
        self.assertEqual(first.returncode, 0)


if __name__ == "__main__":
    unittest.main()
