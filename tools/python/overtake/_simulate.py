# SPDX-License-Identifier: MIT
"""simulate: runs a scenario under virtual time, as `overtake sim` does."""

import functools
import json
import os
from typing import Any, Mapping

import numpy as np

from . import _core
from ._source import read_source


class Simulation:
    """A run of a scenario, as numpy structured arrays.

    All times are virtual time in the scenario's unit (microseconds, or nanoseconds with time_unit
    "ns"), -1 for a moment that never came; cores count from 1. The arrays are made without a copy
    of the run's memory, which lives as long as any of them.
    """

    def __init__(self, run: _core.Simulation) -> None:
        self._run = run

    @functools.cached_property
    def fcs(self) -> np.ndarray:
        """FCs by start: job (index into jobs), index in the job, core, high (ring), start, end."""
        return self._run.fcs

    @functools.cached_property
    def jobs(self) -> np.ndarray:
        """Jobs by arrival: task (index into tasks), segment, core, arrival, start, end, preemptions,
        cancelled."""
        return self._run.jobs

    @functools.cached_property
    def cpu(self) -> np.ndarray:
        """CPU segments by start: task (index into tasks), segment, start, end."""
        return self._run.cpu

    @functools.cached_property
    def tasks(self) -> np.ndarray:
        """Tasks, the scenario's own first, then generated ones by arrival: class (index into
        classes), core, arrival, dispatched, end, cancelled. At FC level each is one job."""
        return self._run.tasks

    @functools.cached_property
    def preemptions(self) -> np.ndarray:
        """Preemptions by time: job (index into jobs) before which a HIGH FC went, core, time."""
        return self._run.preemptions

    @functools.cached_property
    def ids(self) -> list[str]:
        """Names of the tasks, as the scenario has them, or LOAD#NUMBER."""
        return self._run.ids

    @functools.cached_property
    def classes(self) -> list[str]:
        """Names of the classes."""
        return self._run.classes

    @functools.cached_property
    def summary(self) -> dict[str, Any]:
        """The JSON of `overtake sim --json`: latencies, utilisation, times by cause."""
        return json.loads(self._run.summary)

    @property
    def kind(self) -> str:
        """The scenario's kind: "task" or "fc"."""
        return "task" if self._run.is_task_level else "fc"

    def __repr__(self) -> str:
        return f"<overtake.Simulation of {len(self.tasks)} tasks, {len(self.fcs)} FCs>"


def simulate(scenario: Mapping[str, Any] | str | os.PathLike, *, seed: int | None = None,
             settings: Mapping[str, Any] | None = None, warm_up: int = 0, drain: int = 0) -> Simulation:
    """Runs a scenario with the shipped firmware and schedulers, in this process.

    `scenario` is the document as a dict, the path of a JSON file, or the name of a bundled scenario
    (bundled_scenarios()). `settings` changes keys as --set does: {"loads.camera.priority": 255}.
    `seed` is the seed of all random numbers. The summary leaves out the first `warm_up` and the last
    `drain` microseconds of the run; the arrays have the whole run. Files that a dict names are
    relative to the working directory; files that a file names are relative to its directory.

    Other Python threads run meanwhile, and may simulate, too. Raises Error: EINVAL, which names the
    place, for a scenario that is refused; ENOENT for a missing file; ERANGE when virtual time runs
    out.
    """
    return Simulation(_core.simulate(read_source(scenario, settings, seed), warm_up, drain))


def bundled_scenarios() -> list[str]:
    """Returns the names of the scenarios that are installed with Overtake."""
    return _core.bundled_scenarios()
