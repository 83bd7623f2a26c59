# SPDX-License-Identifier: MIT
"""sweep: runs a scenario with all combinations of some settings, here or on a cluster."""

import json
import os
from typing import Any, Mapping, Sequence

import numpy as np

from . import _core
from ._source import read_source, to_json

# The number of shards for each thread of a cluster. With more shards, the load would be balanced
# better, but each shard has to read the scenarios of all combinations.
_SHARDS_PER_THREAD = 4


class Sweep:
    """The results of a sweep: a row for each combination; the last key varies fastest."""

    def __init__(self, points: _core.Points) -> None:
        self._points = points
        self._rows: list[dict[str, Any]] | None = None

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The JSON of `overtake sim --sweep --json`: a dict for each combination, with `settings`,
        `runs`, and for each figure its `mean` (None if there is none) and, with several runs,
        `ci95`, half the width of its 95 % confidence interval."""
        if self._rows is None:
            self._rows = json.loads(self.to_json())
        return self._rows

    def values(self, figure: str) -> np.ndarray:
        """Returns the means of one figure, such as "detector.p99_us", as a float64 array of
        len(self); nan where there is no mean. Raises KeyError, which names the figures, if there is
        no such figure."""
        known = [key for key in self.rows[0] if key not in ("settings", "runs")]
        if figure not in known:
            raise KeyError(f"no figure is called {figure}; there are {', '.join(known)}")
        return np.array([row[figure]["mean"] for row in self.rows], np.float64)

    def settings(self, key: str) -> list[Any]:
        """Returns the value of one key in each combination."""
        return [row["settings"][key] for row in self.rows]

    def to_text(self, columns: Sequence[str] = ()) -> str:
        """Returns the table of `overtake sim --sweep --columns COLUMNS`. Raises Error (EINVAL) for
        a column that does not exist."""
        return self._points.to_text(list(columns))

    def to_json(self, columns: Sequence[str] = ()) -> str:
        """Returns the JSON of `overtake sim --sweep --json --columns COLUMNS`."""
        return self._points.to_json(list(columns))

    def __len__(self) -> int:
        return len(self._points)

    def __repr__(self) -> str:
        return f"<overtake.Sweep of {len(self)} combinations>"


def _run_shard(plan: tuple, number: int, of: int) -> str:
    """Runs one shard on a worker, which has its own copy of the package."""
    import overtake._core as core  # pylint: disable=import-outside-toplevel

    text, directory, name, grid, repeat, warm_up, drain = plan
    source = core.Source(text, directory, name)
    return core.Plan(source, grid, repeat, warm_up, drain, []).run_shard(1, number, of)


def _run_on(client: Any, plan: tuple, points: int, shards: int | None) -> _core.Points:
    threads = sum(client.nthreads().values()) or 1
    of = min(points, shards or _SHARDS_PER_THREAD * threads)
    futures = [client.submit(_run_shard, plan, number, of, pure=False) for number in range(1, of + 1)]
    try:
        return _core.merge_shards(client.gather(futures))
    finally:
        client.cancel(futures)


def sweep(scenario: Mapping[str, Any] | str | os.PathLike, grid: Mapping[str, Sequence[Any]] | str, *,
          client: Any = None, repeat: int = 1, seed: int | None = None,
          settings: Mapping[str, Any] | None = None, warm_up: int = 0, drain: int = 0,
          threads: int | None = None, shards: int | None = None) -> Sweep:
    """Runs every combination of a grid, with the results of `overtake sim --sweep`, to the last byte.

    `grid` has the values of each key, {"core_limit": range(4), "seed": range(1, 51)}, or is a text
    for --sweep: "core_limit=0..3,seed=1..50". Each combination runs with `repeat` seeds.
    `scenario`, `seed`, `settings`, `warm_up` and `drain` are those of simulate().

    Without `client`, `threads` threads of this process (default: one for each CPU) share the work,
    without the GIL. With a dask.distributed Client, its workers share it in `shards` parts, but not
    in more parts than there are combinations (default: four parts for each of their threads). A
    part whose worker is lost is repeated on another worker, with the same result. Workers need this
    package, in the same version, and the files that the scenario names, under the same paths.

    Raises Error (EINVAL) before anything runs, if a combination is refused: the error names the
    settings of the first such combination.
    """
    source = read_source(scenario, settings, seed)
    text = grid if isinstance(grid, str) else to_json([[key, list(values)] for key, values in grid.items()])
    if client is not None:
        directory = os.path.abspath(source.directory)
        plan = _core.Plan(source, text, repeat, warm_up, drain, [])
        return Sweep(_run_on(client, (source.text, directory, source.name, plan.grid, repeat, warm_up, drain),
                             len(plan), shards))
    plan = _core.Plan(source, text, repeat, warm_up, drain, [])
    return Sweep(plan.run(threads or os.cpu_count() or 1))
