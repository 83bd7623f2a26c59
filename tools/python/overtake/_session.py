# SPDX-License-Identifier: MIT
"""Session: requests for one model."""

import asyncio
import atexit
import itertools
import os
import weakref
from typing import Mapping

import numpy as np

from . import _core

_sessions: "weakref.WeakSet[Session]" = weakref.WeakSet()
_loops: "weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _Waiting]" = weakref.WeakKeyDictionary()


@atexit.register
def _close_sessions() -> None:
    """Closes all sessions: at the interpreter's end, no device may still use its arrays."""
    for session in list(_sessions):
        session.close()


class _Waiting:
    """The futures of one event loop, and its notifier: no thread of an engine runs Python."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.notifier = _core.Notifier()
        self.tokens = itertools.count()
        self.futures: dict[int, asyncio.Future] = {}
        loop.add_reader(self.notifier.fileno(), self._wake)

    def _wake(self) -> None:
        for token in self.notifier.take():
            future = self.futures.pop(token, None)
            if future is not None and not future.done():
                future.set_result(None)


def _waiting_of(loop: asyncio.AbstractEventLoop) -> _Waiting:
    waiting = _loops.get(loop)
    if waiting is None:
        waiting = _loops[loop] = _Waiting(loop)
    return waiting


class Session(_core.Session):
    """A queue of a device, for one model; keeps both.

    `max_priority` is the highest priority that its requests may have (255 needs CAP_SYS_NICE on a
    kernel device, and the permission of a server). `core_limit` is requested while the session is
    open, and needs max_priority 255. Up to `task_limit` requests below priority 255 are in progress
    at a time, and `slots` of them share a core. `workers` threads compute the CPU segments. With
    `service=True`, requests wait in one queue with those of all other processes that use it, and
    the device's administrator chooses slots and task limit. `processors` names several processors
    behind one coordinator, as `overtake perf --processors` does, and `policy` names the
    coordinator's policy. `times` is a file of `overtake profile`: the times of runs of the model on
    these processors. `drop` selects the requests with a deadline (`slo`) that the coordinator
    drops: "never", "late" or "predicted" to be late. `record` is the record level. Level 1 records
    what runs on the device in its second run and replays it from then on, with the same results.
    Level 2 does so from the first run, refuses what cannot be recorded, and keeps no more of the
    model than running needs: `model` then has a name, inputs and outputs, and the file is freed
    when the program has dropped its Model. `cpu_threads` (1 to 64) threads compute a convolution or
    a matrix product of the CPU for each of the workers. `cpu_layout` is the memory layout of values
    between operators of the CPU: "planes", "blocked", or "auto", which is the layout of the model's
    file, or else the fastest layout. Results are the same.

    The model is uploaded to the device unless another session has done that. Any thread may use a
    session. It is also a context manager, which closes it. Raises Error: EPERM, which names the
    remedy, if this process may not use the priority; EINVAL for impossible settings; ENOSPC or
    ENOMEM.
    """

    def __init__(self, device: _core.Device, model: _core.Model, *, max_priority: int = 254,
                 core_limit: int = 0, workers: int = 4, slots: int = 1, task_limit: int = 8,
                 service: bool = False, processors: str = "", policy: str = "priority",
                 times: "str | os.PathLike[str]" = "", drop: str = "never", record: int = 0,
                 cpu_threads: int = 1, cpu_layout: str = "auto") -> None:
        super().__init__(device, model, max_priority=max_priority, core_limit=core_limit, workers=workers,
                         slots=slots, task_limit=task_limit, service=service, processors=processors,
                         policy=policy, times=os.fspath(times), drop=drop, record=record,
                         cpu_threads=cpu_threads, cpu_layout=cpu_layout)
        _sessions.add(self)

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def submit(self, inputs: Mapping[str, np.ndarray], *, priority: int = 0, custom_id: int = 0,
               core: int = 0, on: str = "", slo: float | None = None) -> _core.Task:
        """Begins a request and returns at once.

        `inputs` has an array for each of the model's inputs, of the input's shape, and of its dtype
        or float32. An array that is contiguous (C order) and aligned is read in place, from now to
        the end of the task: do not write to it before. Other arrays are copied now. Values are
        converted to the device's int8, rounded half to even and saturated; a float32 tensor of a
        CPU segment is used as it is. Outputs are written directly to the arrays that result()
        returns.

        `priority` is 0 to 254 (NORMAL) or 255 (HIGH, overtakes). Within one priority, a smaller
        `custom_id` goes first. `core` counts from 1; 0 is any core. With several processors, `on`
        names the processor or entry on which the request runs, and `slo` is its deadline in seconds
        from now: a request that the session drops has the status -ETIME.

        Raises Error: EINVAL, which names the input, for an input that is missing, unknown, or of
        another dtype or shape; EPERM for a priority above the session's; ENOSPC or ENOMEM. Each
        request in flight has buffers on the device, of which a process may have some thousands.
        """
        return self._submit(dict(inputs), priority, custom_id, core, on, slo)

    def run(self, inputs: Mapping[str, np.ndarray], *, priority: int = 0, custom_id: int = 0, core: int = 0,
            on: str = "", slo: float | None = None, timeout: float | None = None) -> dict[str, np.ndarray]:
        """Calls submit() and returns result(timeout): {output: array}, which the caller owns.

        Other Python threads run meanwhile. A request that has not ended after `timeout` seconds
        raises TimeoutError and is cancelled.
        """
        task = self.submit(inputs, priority=priority, custom_id=custom_id, core=core, on=on, slo=slo)
        return task.result(timeout)

    async def run_async(self, inputs: Mapping[str, np.ndarray], *, priority: int = 0, custom_id: int = 0,
                        core: int = 0, on: str = "", slo: float | None = None) -> dict[str, np.ndarray]:
        """Does the same as run() in a coroutine: the event loop continues, without another Python thread.

        Cancelling the coroutine cancels the request. The loop needs add_reader(), which asyncio's
        loops on Linux have.
        """
        loop = asyncio.get_running_loop()
        waiting = _waiting_of(loop)
        token = next(waiting.tokens)
        task = self._submit(dict(inputs), priority, custom_id, core, on, slo, waiting.notifier, token)
        waiting.futures[token] = loop.create_future()
        try:
            await waiting.futures[token]
        except asyncio.CancelledError:
            task.cancel()
            raise
        return task.result()

    def close(self) -> None:
        """Cancels running requests, waits for their ends, and gives the queue back to the device.

        Tasks and results stay valid; a later submit() raises Error (EINVAL).
        """
        super().close()
