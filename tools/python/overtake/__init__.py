# SPDX-License-Identifier: MIT
"""Overtake: run compiled networks on an NPU that preempts, or simulate them.

    import numpy, overtake

    device = overtake.open_device("auto")
    model = overtake.Model("detector.ovm")
    session = overtake.Session(device, model, max_priority=255, core_limit=1)
    scores = session.run({"image": numpy.zeros((1, 3, 224, 224), numpy.float32)}, priority=255)

    run = overtake.simulate("demo-both", settings={"core_limit": 2})
    print(run.summary["classes"][0]["latency_us"]["p99"])

    for event in overtake.trace(device, seconds=10):
        print(event["time_ns"], event["event"], event.get("tag"))

Errors are overtake.Error, with an errno value as `code`. Threads may share all objects of this
package. A child of os.fork() opens a device of its own: calls on objects that its parent opened
raise Error with the code errno.ENOTSUP.
"""

from ._core import PRIORITY_HIGH, Device, Model, Task, Tensor, __version__
from ._device import open_device
from ._error import Error
from ._session import Session
from ._simulate import Simulation, bundled_scenarios, simulate
from ._sweep import Sweep, sweep
from ._trace import Trace, trace

__all__ = ["PRIORITY_HIGH", "Device", "Error", "Model", "Session", "Simulation", "Sweep", "Task", "Tensor", "Trace",
           "__version__", "bundled_scenarios", "open_device", "simulate", "sweep", "trace"]

for _name in __all__:  # the classes' names in tracebacks and pickles
    if isinstance(globals()[_name], type):
        globals()[_name].__module__ = "overtake"
del _name
