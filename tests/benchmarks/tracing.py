#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What watching a device costs it: FCs a second with a watcher over FCs a second without, in turns.

    tests/benchmarks/tracing.py [--device kernel | --mode M] [--rounds N] [--frames N] [--in-flight N] MODEL

Without --device it starts a device server of two cores. MODEL is a compiled model: the shorter its FCs,
the more events there are for the same work. The order in a round is drawn anew. "none again" is the
control: how far its ratios are from 1 is what the machine itself adds. Beside the ratio stands how much
of one CPU the watcher used, which is the steadier figure. --check also says whether `trace --json` has told each FC's
start and end, in the order of time on each core; it exits with 1 unless what is missing was counted among
the lost. OVERTAKE names the command; build/bin/overtake is the default.
"""

import argparse
import collections
import contextlib
import json
import os
import pathlib
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time

SOURCE = pathlib.Path(__file__).resolve().parents[2]
TRACEPOINTS = 19  # one for each type of struct Event
BINARY = os.environ.get("OVERTAKE", str(SOURCE / "build/bin/overtake"))


def output(*arguments):
    return subprocess.run([BINARY, *map(str, arguments)], stdout=subprocess.PIPE, text=True, check=True).stdout


@contextlib.contextmanager
def server(directory, mode):
    socket = pathlib.Path(directory, "device")
    process = subprocess.Popen([BINARY, "serve", "--cores", "2", "--mode", mode, "--socket", str(socket)],
                               stdout=subprocess.DEVNULL)
    try:
        while not socket.exists():
            if process.poll() is not None:
                sys.exit("tracing.py: the device server ended")
            time.sleep(0.01)
        yield f"server:{socket}"
    finally:
        process.terminate()
        process.wait()


def watch(*arguments, out=subprocess.DEVNULL):
    return subprocess.Popen([BINARY, *map(str, arguments)], stdout=out, stderr=subprocess.PIPE, text=True)


def attached(process, device, before):
    """Returns whether the watcher gets all events from now on."""
    if process.poll() is not None:
        sys.exit(f"tracing.py: the watcher ended: {process.stderr.read()}")
    if device.startswith("server:"):  # it asks for events in its first call, and their ring is charged to it
        now = clients(device)
        return len(now) > before and now[-1]["memory_bytes"] > 0
    links = 0
    for descriptor in pathlib.Path(f"/proc/{process.pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            target = os.readlink(descriptor)
            links += "bpf" in target and "link" in target
    return links >= TRACEPOINTS


def clients(device):
    if not device.startswith("server:"):
        return []
    return json.loads(output("serve", "--status", "--json", "--socket", device.removeprefix("server:")))["clients"]


def watch_from_now(device, *arguments, out=subprocess.DEVNULL):
    before = len(clients(device))
    process = watch(*arguments, "--device", device, out=out)
    while not attached(process, device, before):
        time.sleep(0.05)
    return process


def stop(process):
    process.send_signal(signal.SIGINT)
    errors = process.communicate()[1]
    if process.returncode != 0:
        sys.exit(f"tracing.py: the watcher failed: {errors}")
    return errors


def frames_per_second(options, device):
    report = json.loads(output("perf", options.model, "--device", device, "--frames", options.frames, "--warm-up", 100,
                               "--in-flight", options.in_flight, "--json"))
    return report["models"][0]["fps"]


def once(options, device, watcher):
    """Returns the frames a second while `watcher` (arguments, or None) watches, its share of a CPU, and its stderr."""
    if watcher is None:
        return frames_per_second(options, device), 0, ""
    process = watch_from_now(device, *watcher)
    cpu, begin = cpu_seconds(process), time.monotonic()
    rate = frames_per_second(options, device)
    share = (cpu_seconds(process) - cpu) / (time.monotonic() - begin)
    return rate, share, stop(process)


def cpu_seconds(process):
    fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def is_complete(options, device, directory):
    """Returns whether trace --json reports every FC of one load that started and ended, once and in order."""
    path = pathlib.Path(directory, "events")
    with path.open("w") as file:
        process = watch_from_now(device, "trace", "--json", "--type", "fc_start", "--type", "fc_done", out=file)
        before = fcs_of(device)
        frames_per_second(options, device)
        errors = stop(process)
    ran = fcs_of(device) - before
    counts, last, backwards = collections.Counter(), {}, 0
    with path.open() as file:
        for line in file:
            event = json.loads(line)
            counts[event["event"]] += 1
            backwards += event["time_ns"] < last.get(event["core"], 0)
            last[event["core"]] = event["time_ns"]
    lost = int(errors.split(" events were lost")[0].split()[-1]) if "events were lost" in errors else 0
    print(f"{ran} FCs ran: {counts['fc_start']} starts and {counts['fc_done']} ends were reported, {lost} events lost, "
          f"{backwards} times back in time on a core")
    missing = 2 * ran - counts["fc_start"] - counts["fc_done"]
    return 0 <= missing <= lost and backwards == 0  # events of other types may be lost as well


def fcs_of(device):
    socket = ["--server", device.removeprefix("server:")] if device.startswith("server:") else []
    return sum(int(line.split()[-1]) for line in output("metrics", *socket).splitlines()
               if line.startswith("overtake_fcs_total{"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("--device")
    parser.add_argument("--mode", default="functional", choices=["functional", "timed", "both"], help="of the server")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--frames", type=int, default=2000)
    parser.add_argument("--in-flight", type=int, default=8)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory, contextlib.ExitStack() as stack:
        device = options.device or stack.enter_context(server(directory, options.mode))
        if options.check:
            sys.exit(0 if is_complete(options, device, directory) else 1)
        watchers = {"none": None, "trace --record": ("trace", "--record", pathlib.Path(directory, "run.json")),
                    "top": ("top", "--batch", "1000000", "--json"), "none again": None}
        rates, shares, errors = (collections.defaultdict(list) for _ in range(3))
        for _ in range(options.rounds):
            for name in random.sample(list(watchers), len(watchers)):
                rate, share, error = once(options, device, watchers[name])
                rates[name].append(rate)
                shares[name].append(share)
                errors[name].append(error)
        base = rates["none"]
        for name in watchers:
            measured = rates[name]
            ratios = [rate / alone for rate, alone in zip(measured, base)]
            print(f"{name:16} {statistics.median(measured):10.0f} frames/s, ratio {statistics.median(ratios):.3f} "
                  f"({min(ratios):.3f} to {max(ratios):.3f}), all rounds {sum(measured) / sum(base):.3f}, "
                  f"watcher {statistics.median(shares[name]):.2%} of a CPU")
            for error in set(filter(None, errors[name])):
                print("    " + error.strip())


if __name__ == "__main__":
    main()
