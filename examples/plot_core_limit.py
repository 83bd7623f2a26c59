#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Plots a detector's latencies over the core limit, as the simulator predicts them.

    plot_core_limit.py [-o core_limit.png] [--scenario demo-both] [--class detector]

The detector of the demo shares a core with a large network, which was split into FCs of 1 ms. A limit
of n lets it wait for up to n of them; 0 means that it never overtakes. Needs the package overtake and
matplotlib (Debian: python3-overtake, python3-matplotlib).
"""

import argparse

import matplotlib

matplotlib.use("Agg")  # a file, no window
import matplotlib.pyplot as plt  # noqa: E402
import overtake  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", "--output", default="core_limit.png")
    parser.add_argument("--scenario", default="demo-both", help="a bundled scenario, or a file")
    parser.add_argument("--class", dest="of", default="detector", help="whose latencies")
    parser.add_argument("--limits", type=int, default=16, help="the largest core limit")
    options = parser.parse_args()

    limits = range(1, options.limits + 1)
    latencies = {"p50": [], "p99": []}
    for limit in [0, *limits]:
        run = overtake.simulate(options.scenario, settings={"core_limit": limit})
        latency = next(of for of in run.summary["classes"] if of["class"] == options.of)["latency_us"]
        for percentile, values in latencies.items():
            values.append(latency[percentile] / 1000)

    figure, axes = plt.subplots(figsize=(7, 4.2), layout="constrained")
    for (percentile, (without, *values)), colour in zip(latencies.items(), ("tab:blue", "tab:red")):
        axes.plot(limits, values, "o-", color=colour, label=f"{percentile}, core limit n")
        axes.axhline(without, linestyle="--", color=colour, label=f"{percentile}, no preemption: {without:.1f} ms")
        print(f"{percentile}: {without:.2f} ms without preemption, {values[0]:.2f} ms with core limit 1")
    axes.set_xlabel("core limit: FCs of the large network that may go first")
    axes.set_ylabel(f"latency of {options.of} (ms)")
    axes.set_ylim(bottom=0)
    axes.set_xticks(limits)
    axes.set_title(f"{options.scenario}: what the core limit does to the {options.of}")
    axes.grid(alpha=0.3)
    axes.legend(loc="center right")
    figure.savefig(options.output, dpi=120)
    print(f"{options.output}: written")


if __name__ == "__main__":
    main()
