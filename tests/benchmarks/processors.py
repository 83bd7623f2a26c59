#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The results of policies on several processors: throughput and satisfaction on three mixes of networks.

    make bench-processors
    tests/benchmarks/processors.py OVERTAKE [--seeds N] [--mixes FILE] [--recovery] [--real PROGRAM]

Throughput: eight requests of each network are in flight all the time. What counts is requests per
second once the first tenth of the time is over, as a share of the optimum: the solution of a linear
program in which each network's requests flow through cuts and processors, so that no processor is
used for more than all of its time and networks keep the proportions that the policy served. Single:
the best one processor (with the CPU for what it lacks) under the same load.

Satisfaction: Poisson arrivals of 0.9 of the optimum, all networks alike; the share of requests that
end within five times what they take alone; a request that the plan says is late is dropped. The
mean of SEEDS runs.

Recovery: the same at 0.6 of the optimum with least-slack; one processor fails for a second, or takes
three times as long. What counts is the share in the third second after that ends, against the share
in the two seconds before it begins, the mean of SEEDS runs: the program fails if that is lower by
more than 0.08 for any processor, or if a request never ended.

Real clock: nothing but that, with bench_real_processors. The mixes run through an engine on an
embedded device in mode timed, with a depth of 2 and the policy priority; the pool is a processor of
the program's own that waits for as long as a unit takes. A device executes neither overheads nor
moves, so they are left out of the optimum and of the simulator's figure beside it, too. The program
fails if the median of three rounds is less than 0.75 of the optimum for A or C. Then the same
recovery, the mean of REAL_SEEDS runs. Where the program may not have a real-time priority, what else
the machine has to do makes these figures worse.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

import numpy
from scipy.optimize import linprog

HERE = pathlib.Path(__file__).resolve().parent
POLICIES = ("priority", "fixed", "round-robin", "shortest-latency", "heft", "heft-reserved", "least-slack")
IN_FLIGHT = 8
THROUGHPUT_US = 20_000_000
SLO_FACTOR = 5
SLO_LOAD = 0.9
SLO_US = 20_000_000
RECOVERY_LOAD = 0.6
RECOVERY_BOUND = 0.08
REAL_US = 10_000_000
REAL_DEPTH = 2
REAL_ROUNDS = 3
REAL_BOUND = {"A": 0.75, "C": 0.75}  # of the optimum
SECOND = 1_000_000


class Mix:
    """The processors, and the networks of one mix."""

    def __init__(self, document, name):
        self.name = name
        self.entries = document["processors"]
        self.models = document["mixes"][name]
        self.rates = {}
        for a, b, rate in document["rates"]:
            self.rates[a, b] = self.rates[b, a] = rate
        self.rate_list = document["rates"]

    def move(self, a, b, size):
        rate = self.rates.get((a, b), 0)
        return -(-size // rate) if rate and a != b else 0

    def time(self, unit, entry):
        time = unit["time"].get(entry["class"])
        return sum(time) if isinstance(time, list) else time

    def pieces(self, model):
        """Runs of a request: (from unit, to unit, entry, time)."""
        units = self.models[model]["units"]
        for first in range(len(units)):
            for e, entry in enumerate(self.entries):
                time = 0
                for last in range(first, len(units)):
                    own = self.time(units[last], entry)
                    if own is None:
                        break
                    time += own
                    yield first, last + 1, e, time

    def edges(self, model):
        """(node, node, entry, cost): a node is a border between units and the entry in front of it."""
        units = self.models[model]["units"]
        for first, end, e, time in self.pieces(model):
            before = [None] if first == 0 else range(len(self.entries))
            for p in before:
                names = self.entries[p]["name"] if p is not None else None, self.entries[e]["name"]
                move = self.move(*names, units[first - 1].get("bytes", 0)) if p is not None else 0
                yield (first, p), (end, e), e, self.entries[e].get("overhead", 0) + move + time

    def alone(self, model):
        """Returns the time of a request when no other request runs."""
        length = len(self.models[model]["units"])
        best = {(0, None): 0}
        for start, end, _, cost in sorted(self.edges(model), key=lambda edge: edge[0][0]):
            if start in best:
                best[end] = min(best.get(end, float("inf")), best[start] + cost)
        return min(cost for (border, _), cost in best.items() if border == length)

    def capacity(self, entry):
        return entry.get("cores") or entry.get("workers")

    def optimum(self, shares):
        """Requests per microsecond, of networks in these proportions."""
        names = list(self.models)
        columns = []
        for m, model in enumerate(names):
            columns += [(m, *edge) for edge in self.edges(model)]
        count = len(columns) + 1  # the last one is the rate
        equal, right = [], []
        for m, model in enumerate(names):
            length = len(self.models[model]["units"])
            nodes = {column[1] for column in columns if column[0] == m} | {
                column[2] for column in columns if column[0] == m
            }
            for node in nodes:
                if node[0] == length:
                    continue
                row = numpy.zeros(count)
                for c, (of, start, end, _, _) in enumerate(columns):
                    if of == m:
                        row[c] += (start == node) - (end == node)
                if node == (0, None):
                    row[-1] = -shares[m]
                equal.append(row)
                right.append(0)
        upper = numpy.zeros((len(self.entries), count))
        for c, (_, _, _, entry, cost) in enumerate(columns):
            upper[entry, c] += cost
        goal = numpy.zeros(count)
        goal[-1] = -1
        limits = [self.capacity(entry) for entry in self.entries]
        solved = linprog(goal, A_ub=upper, b_ub=limits, A_eq=numpy.array(equal), b_eq=right, method="highs")
        assert solved.success, solved.message
        return -solved.fun

    def bare(self):
        """Returns the mix without overheads and moves, and with runs that wait on a core."""
        mix = Mix.__new__(Mix)
        mix.__dict__.update(self.__dict__)
        mix.rates, mix.rate_list = {}, []
        mix.entries = []
        for entry in self.entries:
            entry = {key: value for key, value in entry.items() if key != "overhead"}
            mix.entries.append({**entry, "depth": REAL_DEPTH} if "cores" in entry else entry)
        return mix

    def only(self, name):
        """Returns the mix with one processor, and with the CPU for units that this processor does not support."""
        mix = Mix.__new__(Mix)
        mix.__dict__.update(self.__dict__)
        mix.entries = [entry for entry in self.entries if entry["name"] in (name, "cpu")]
        mix.rate_list = [rate for rate in self.rate_list if {rate[0], rate[1]} <= {name, "cpu"}]
        classes = {entry["class"] for entry in mix.entries}
        mix.models = {}
        for model, described in self.models.items():
            units = []
            for unit in described["units"]:
                time = {of: value for of, value in unit["time"].items() if of in classes}
                if name != "cpu" and len(time) > 1:  # the processor runs all units that it supports
                    time.pop("cpu", None)
                units.append({**unit, "time": time})
            mix.models[model] = {**described, "units": units}
        return mix


def runner(*command):
    """A function that runs a scenario by a command, which prints its tasks."""

    def run(scenario):
        """Its tasks."""
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(scenario, file)
            file.flush()
            done = subprocess.run([*command, file.name], capture_output=True, text=True, check=True)
        printed = json.loads(done.stdout)
        if printed.get("real_time") is False and not warned:
            warned.append(True)
            print("  no right to a real-time priority: other work on this machine makes the figures worse", flush=True)
        return printed["tasks"]

    warned = []
    return run


def scenario_of(mix, policy, **more):
    scenario = {"version": 1, "kind": "task", "policy": policy, "processors": mix.entries, "models": mix.models}
    if mix.rate_list:
        scenario["rates"] = mix.rate_list
    return {**scenario, **more}


def fixed_maps(mix):
    """Returns the maps that give each network an accelerator that supports its first unit."""
    names = [entry["name"] for entry in mix.entries if entry["name"] != "cpu"]
    maps = [{}]
    for model, described in mix.models.items():
        able = [
            name
            for name in names
            if any(entry["name"] == name and entry["class"] in unit["time"] for entry in mix.entries for unit in described["units"])
        ]
        maps = [{**one, model: name} for one in maps for name in able]
    return maps


def throughput(run, mix, policy, until=THROUGHPUT_US, **more):
    loads = [
        {"id": model, "model": model, "arrivals": {"type": "closed_loop", "depth": IN_FLIGHT}, "until": until}
        for model in mix.models
    ]
    tasks = run(scenario_of(mix, policy, loads=loads, **more))
    begin = until // 10
    counts = dict.fromkeys(mix.models, 0)
    for task in tasks:
        if task["status"] == "done" and begin <= task["end"] < until:
            counts[task["id"].split("#")[0]] += 1
    rate = sum(counts.values()) / (until - begin)
    total = sum(counts.values())
    return rate, [counts[model] / total for model in mix.models]


def slo_loads(mix, share, until):
    """Poisson arrivals of a share of the optimum, all networks alike."""
    alike = [1 / len(mix.models)] * len(mix.models)
    rate = share * mix.optimum(alike)
    return [
        {
            "id": model,
            "model": model,
            "slo": SLO_FACTOR * int(mix.alone(model)),
            "arrivals": {"type": "poisson", "mean": len(mix.models) / rate},
            "until": until,
        }
        for model in mix.models
    ]


def is_met(task, slo):
    return task["status"] == "done" and task["end"] - task["arrival"] <= slo[task["id"].split("#")[0]]


def satisfaction(run, mix, policy, seeds, until=SLO_US, **more):
    loads = slo_loads(mix, SLO_LOAD, until)
    slo = {load["id"]: load["slo"] for load in loads}
    met = []
    for seed in range(1, seeds + 1):
        tasks = run(scenario_of(mix, policy, loads=loads, seed=seed, drop="predicted", **more))
        met.append(sum(is_met(task, slo) for task in tasks) / len(tasks))
    return sum(met) / len(met)


def recovery(run, mix, processor, events, seeds):
    """Returns satisfaction before, during and after the events of the fifth second, and the number of requests that
    never ended."""
    loads = slo_loads(mix, RECOVERY_LOAD, 9 * SECOND)
    slo = {load["id"]: load["slo"] for load in loads}
    events = [{"at": at, "processor": processor, **event} for at, event in zip((4 * SECOND, 5 * SECOND), events)]
    shares = {(2, 4): [], (4, 5): [], (7, 8): []}  # seconds
    endless = 0
    for seed in range(1, seeds + 1):
        scenario = scenario_of(mix, "least-slack", loads=loads, seed=seed, drop="predicted", events=events)
        tasks = run(scenario)
        endless += sum(task["status"] is None for task in tasks)
        for (begin, end), met in shares.items():
            there = [task for task in tasks if begin * SECOND <= task["arrival"] < end * SECOND]
            met.append(sum(is_met(task, slo) for task in there) / len(there))
    return *(sum(met) / seeds for met in shares.values()), endless


def print_recovery(run, mix, seeds):
    """Returns whether recovery stays within the bound for each processor."""
    kinds = {
        "fails": ({"event": "fail"}, {"event": "recover"}),
        "takes 300 %": ({"event": "throttle", "factor": 300}, {"event": "throttle", "factor": 100}),
    }
    print(f"  {'for a second':<26}{'before':>9}{'during':>9}{'after':>9}{'lower by':>10}{'never ended':>13}")
    holds = True
    for entry in mix.entries:
        processor = entry["name"] + (".1" if entry.get("cores", 1) > 1 else "")
        for kind, events in kinds.items():
            before, during, after, endless = recovery(run, mix, processor, events, seeds)
            lower = before - after
            holds = holds and lower <= RECOVERY_BOUND and endless == 0
            what = f"{processor} {kind}"
            print(f"  {what:<26}{before:>9.3f}{during:>9.3f}{after:>9.3f}{lower:>10.3f}{endless:>13}", flush=True)
    return holds


def best_fixed(mix, measure):
    """The best of all maps, by a short run of each."""
    return max(fixed_maps(mix), key=lambda one: measure(one))


def print_policies(run, mix, seeds):
    single = max(throughput(run, mix.only(entry["name"]), "priority")[0] for entry in mix.entries)
    fixed = best_fixed(mix, lambda one: throughput(run, mix, "fixed", 3_000_000, map=one)[0])
    fixed_slo = best_fixed(mix, lambda one: satisfaction(run, mix, "fixed", 1, 3_000_000, map=one))
    print(f"  {'policy':<18}{'requests/s':>11}{'of optimum':>12}{'over single':>13}{'within SLO':>12}")
    for policy in POLICIES:
        more = {"map": fixed} if policy == "fixed" else {}
        more_slo = {"map": fixed_slo} if policy == "fixed" else {}
        try:
            rate, shares = throughput(run, mix, policy, **more)
            within = satisfaction(run, mix, policy, seeds, **more_slo)
        except subprocess.CalledProcessError as error:
            print(f"  {policy:<18}{error.stderr.strip().split(': ', 1)[-1]}")
            continue
        print(
            f"  {policy:<18}{rate * 1e6:>11.0f}{rate / mix.optimum(shares):>12.3f}"
            f"{rate / single:>13.2f}{within:>12.3f}",
            flush=True,
        )


def print_real(simulator, real, mix):
    """Prints an engine's results under the real clock, beside the simulator's. Returns whether they reach the bound."""
    print(f"  {'priority, depth 2':<26}{'requests/s':>11}{'optimum':>11}{'of optimum':>12}")
    parts = []
    for round_number in range(REAL_ROUNDS + 1):
        run = real if round_number else simulator
        rate, shares = throughput(run, mix, "priority", REAL_US)
        optimum = mix.optimum(shares)
        name = f"real clock, round {round_number}" if round_number else "simulator"
        print(f"  {name:<26}{rate * 1e6:>11.0f}{optimum * 1e6:>11.0f}{rate / optimum:>12.3f}", flush=True)
        if round_number:
            parts.append(rate / optimum)
    bound = REAL_BOUND.get(mix.name[0], 0)
    middle = statistics.median(parts)
    print(f"  {'median':<26}{middle:>34.3f}" + (f", bound {bound}" if bound else ""), flush=True)
    return middle >= bound


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("overtake")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--mixes", type=pathlib.Path, default=HERE / "data/mixes.json")
    parser.add_argument("--recovery", action="store_true", help="nothing but that")
    parser.add_argument("--real", metavar="PROGRAM", help="nothing but the real clock, by bench_real_processors")
    parser.add_argument("--real-seeds", type=int, default=1)
    parser.add_argument("--mix", help="only this one, by the beginning of its name")
    options = parser.parse_args()
    document = json.loads(options.mixes.read_text())
    simulator = runner(options.overtake, "sim")
    recovered = is_enough = True
    for name in document["mixes"]:
        if not name.startswith(options.mix or ""):
            continue
        mix = Mix(document, name)
        print(name, flush=True)
        if options.real:
            mix = mix.bare()
            real = runner(options.real)
            is_enough = print_real(simulator, real, mix) and is_enough
            recovered = print_recovery(real, mix, options.real_seeds) and recovered
            continue
        if not options.recovery:
            print_policies(simulator, mix, options.seeds)
        recovered = print_recovery(simulator, mix, options.seeds) and recovered
    if not is_enough:
        sys.exit(f"processors.py: under the real clock throughput is below {REAL_BOUND} of the optimum")
    if not recovered:
        sys.exit(f"processors.py: in the third second satisfaction is lower by more than {RECOVERY_BOUND}, or not all ended")


if __name__ == "__main__":
    main()
