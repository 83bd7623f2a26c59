# SPDX-License-Identifier: MIT
"""open_device: opens the device that a name means."""

from typing import Sequence

from . import _core


def open_device(name: str = "auto", *, cores: int | None = None, mode: str | None = None,
                profile: str | None = None, core_limit: int | None = None,
                core_limits: Sequence[int] | None = None, normal_floor: int | None = None,
                fair: bool | None = None, simd: bool | None = None,
                watchdog_cycles: int | None = None, fc_clock_ns: int | None = None,
                stop_grace_ns: int | None = None, queue_timeout_ns: int | None = None,
                profiles: Sequence[str] | None = None) -> _core.Device:
    """Opens an accelerator.

    `name` is "auto", "embedded", "kernel", "server", "server:SOCKET" or a node's path. "auto" takes
    the kernel device if there is one, else a server that answers, else an embedded device. An
    embedded device is inside this process and not shared; "auto" reports it in a line on stderr.

    All other arguments are for an embedded device; None means its default. They are: `cores`
    (1..64), `mode` ("functional": compute as fast as the host can; "timed": take the modelled time;
    "both"), `profile` (the name of a built-in profile) or `profiles` (one for each core),
    `core_limit` of every core (0 = no preemption) or `core_limits` of each, `normal_floor`, `fair`,
    `simd`, `watchdog_cycles` that one FC may execute, and, in nanoseconds, `fc_clock_ns`,
    `stop_grace_ns` and `queue_timeout_ns`.

    The device stays open until its last Device, Session and Task is gone. Raises Error: EINVAL for
    an impossible name or setting; EACCES, which names the remedy, without permission; or the errno
    of opening the device.
    """
    given = {key: value for key, value in locals().items() if key != "name" and value is not None}
    return _core.open_device(name, **given)
