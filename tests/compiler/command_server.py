# SPDX-License-Identifier: MIT
"""One process for many overtake commands: starting a process takes most of the time of a small
command."""

import atexit
import fcntl
import json
import os
import select
import subprocess
import sys

TIME_LIMIT = 120  # seconds, for a command


class Refused(AssertionError):
    """The command ended with an error."""


class _File:
    """A file of what a process prints. It stays readable when the process has died."""

    def __init__(self):
        self._file = open(os.memfd_create("printed"), "r+b", buffering=0)  # closed with the object
        fcntl.fcntl(self._file, fcntl.F_SETFL, os.O_APPEND)

    def fileno(self):
        return self._file.fileno()

    def close(self):
        self._file.close()

    def take(self):
        text = os.pread(self.fileno(), os.fstat(self.fileno()).st_size, 0)
        self._file.truncate(0)
        return text.decode(errors="backslashreplace").replace("\r\n", "\n").replace("\r", "\n")


def _pipe():
    """Returns a pipe's two ends, to read from and to write to, without buffers."""
    return [open(end, mode, buffering=0) for end, mode in zip(os.pipe(), ("rb", "wb"))]


class CommandServer:
    """`path` is the binary of command_server.cpp. One thread may call at a time; a forked process
    has a server of its own.
    The server starts with the first command, after a command that ended it, and when the
    environment has changed. It keeps the resource limits and the umask that the caller had when it
    started."""

    def __init__(self, path):
        self._path = path
        self._process = None
        self._state = None  # the caller's process ID and environment when the server started
        self._files = []
        atexit.register(self._stop_at_exit)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        process, self._process = self._process, None
        for file in self._files:
            file.close()
        self._files = []
        if not process or self._state[0] != os.getpid() or process.returncode is not None:
            return
        try:
            status = process.wait(TIME_LIMIT)
        except subprocess.TimeoutExpired:
            process.kill()
            status = process.wait()
        if status != 0:
            raise AssertionError(f"the process of overtake's commands ended with {status}")

    def _stop_at_exit(self):
        try:
            self.stop()
        except AssertionError as failure:  # Python would end with status 0
            print(failure, file=sys.stderr, flush=True)
            os._exit(1)

    def run(self, *arguments, directory=None):
        """Returns the finished command, as subprocess.run() does."""
        if not self._process or self._process.returncode is not None or self._state != (os.getpid(), dict(os.environ)):
            self.stop()
            self._start()
        words = [str(directory or os.getcwd()), *map(str, arguments)]
        status = self._ask(json.dumps(words) + "\n")
        return subprocess.CompletedProcess(words, status, self._printed.take(), self._complaints.take())

    def __call__(self, *arguments):
        """Returns what the command prints. Raises Refused."""
        done = self.run(*arguments)
        if done.returncode < 0:
            raise AssertionError(f"overtake {arguments} died with {done.returncode}: {done.stderr}")
        if done.returncode != 0:
            raise Refused(f"overtake {' '.join(done.args[1:])}: status {done.returncode}: {done.stderr}")
        return done.stdout

    def _start(self):
        self._printed, self._complaints = _File(), _File()  # a forked process shares no file with its parent
        commands, self._commands = _pipe()
        self._answers, answers = _pipe()
        files = (commands.fileno(), answers.fileno())
        self._process = subprocess.Popen([self._path, *map(str, files)], pass_fds=files, stdin=subprocess.DEVNULL,
                                         stdout=self._printed, stderr=self._complaints)  # fmt: skip
        commands.close()
        answers.close()
        self._state = (os.getpid(), dict(os.environ))
        self._files = [self._printed, self._complaints, self._commands, self._answers]

    def _ask(self, line):
        """Returns the command's exit status. If the server ended before it answered, returns minus
        the signal or exit status of the server, or -1 if that is 0."""
        try:
            self._commands.write(line.encode())
        except BrokenPipeError:
            pass
        is_late = not select.select([self._answers], [], [], TIME_LIMIT)[0]
        answer = "" if is_late else self._answers.readline()
        if answer:
            return int(answer)
        if is_late:
            self._process.kill()
            self._process.wait()
            raise AssertionError(f"overtake {line} has not ended after {TIME_LIMIT} s: {self._complaints.take()}")
        return -abs(self._process.wait()) or -1
