# SPDX-License-Identifier: MIT
"""trace: what happens on a device, event by event."""

import asyncio
from typing import Any

from . import _core


class Trace:
    """Events of a device, from trace(): an iterator, also an asynchronous one, and a context manager.

    Each event is a new dict: "event" is its type, "time_ns" device time; docs/reference/tracepoints.md has the
    types and the other fields. Those of one core come in order; those of different cores, and of
    what has not reached a core yet, may come a little late. Any thread may use it; each event is
    told once.
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
        """Events so far that were not fetched in time: the trace has gaps."""
        return self._source.lost

    def close(self) -> None:
        """Ends it: a thread that waits for an event gets no more. Closing twice is fine."""
        self._source.close()

    def __enter__(self) -> "Trace":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def trace(device: _core.Device | str = "auto", *, seconds: float | None = None) -> Trace:
    """Watches all clients of a device from now on.

    `device` is a Device or a name as `overtake trace` takes it: "auto", "kernel", a node's path,
    "server" or "server:SOCKET". An embedded device is its process's own, so it is watched by its
    Device only. After `seconds` the iterator ends, None means never. A kernel device's tracepoints
    tell of all devices of the driver, and need CAP_BPF and CAP_PERFMON, or root.

    Raises Error: EPERM without the right and ENOENT without a device, naming the remedy, ENOTSUP if
    the package was built without libbpf.
    """
    return Trace(_core.open_trace(device, seconds))
