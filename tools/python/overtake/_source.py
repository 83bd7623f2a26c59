# SPDX-License-Identifier: MIT
"""The document of a scenario, for simulate() and sweep()."""

import json
import os
from typing import Any, Mapping

from . import _core


def _plain(value: Any) -> Any:
    """Converts numbers and arrays of numpy to those of JSON."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{value!r} is not JSON")


def to_json(value: Any) -> str:
    return json.dumps(value, default=_plain, allow_nan=False)


def read_source(scenario: Mapping[str, Any] | str | os.PathLike, settings: Mapping[str, Any] | None,
                seed: int | None) -> _core.Source:
    if isinstance(scenario, (str, os.PathLike)):
        source = _core.Source.read(os.fspath(scenario))
    else:
        source = _core.Source(to_json(scenario), ".", "scenario")
    for key, value in (settings or {}).items():
        source.set(key, to_json(value))
    if seed is not None:
        source.set("seed", to_json(seed))
    return source
