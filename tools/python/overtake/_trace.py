# SPDX-License-Identifier: MIT
"""trace: the events of a device, one by one."""

import asyncio
from typing import Any

from . import _core


class Trace:
    """Events of a device, from trace(): an iterator, also an asynchronous one, and a context manager.

    Each event is a new dict: "event" is its type, "time_ns" is device time.
    docs/reference/tracepoints.md has the types and the other fields. The events of one core come in
    order. Events of different cores, and of jobs that have not reached a core yet, may come a
    little late. Any thread may use a Trace; it returns each event once.
    """

    def __init__(self, source: _core.TraceSource):
        self._source = source

    def __iter__(self) -> "Trace":
        return self

    def __next__(self) -> dict[str, Any]:
        return self._source.next()

    def __aiter__(self) -> "Trace":
        return self

    async def __anext__(self) -> dict[str, Any]:
        event = await asyncio.to_thread(next, self, None)
        if event is None:
            raise StopAsyncIteration
        return event

    @property
    def lost(self) -> int:
        """The number of events that were not fetched in time so far: the trace has gaps."""
        return self._source.lost

    def close(self) -> None:
        """Ends the trace: a thread that waits for an event gets none. A second call is allowed."""
        self._source.close()

    def __enter__(self) -> "Trace":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def trace(device: _core.Device | str = "auto", *, seconds: float | None = None) -> Trace:
    """Watches all clients of a device from now on.

    `device` is a Device or a name as `overtake trace` takes it: "auto", "kernel", a node's path,
    "server" or "server:SOCKET". An embedded device belongs to its process, so it can be watched
    only by its Device. After `seconds`, the iterator ends; None means never. A kernel device's
    tracepoints report all devices of the driver, and need CAP_BPF and CAP_PERFMON, or root.

    Raises Error: EPERM without the right or ENOENT without a device, both with the remedy; ENOTSUP
    if the package was built without libbpf.
    """
    return Trace(_core.open_trace(device, seconds))
