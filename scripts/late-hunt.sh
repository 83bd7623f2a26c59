#!/bin/sh
# SPDX-License-Identifier: MIT
# The example of docs/use/why-late.md: three programs on a device server; one of them, the detector, is
# late now and then.
#
#   scripts/late-hunt.sh [DIRECTORY]
#
# Runs every step of the page and prints its output; writes the page's pictures, late-before.png and
# late-after.png, to DIRECTORY (docs/pictures). Takes a minute. Needs `make build`; compiles the
# networks if they are missing.
set -eu
cd "$(dirname "$0")/.."
pictures=${1:-docs/pictures}
networks=build/networks
overtake=build/bin/overtake
work=$(mktemp -d)
device=server
export OVERTAKE_SERVER="$work/device"

end()
{
	# shellcheck disable=SC2046 # a list of numbers
	kill $(jobs -p) 2> /dev/null || :
	wait
	rm -rf "$work"
}
trap end EXIT
trap 'exit 1' INT TERM

say()
{
	printf '\n$ overtake'
	printf ' %s' "$@"
	printf '\n'
	"$overtake" "$@"
}

# measure RESNET18 RECORDING: runs the three programs, and watches them for 20 s
measure()
{
	"$overtake" serve --cores 1 --core-limit 1 --mode timed --socket "$work/device" > "$work/serve.txt" &
	server=$!
	until "$overtake" serve --status --socket "$work/device" > "$work/status.txt" 2>&1; do
		kill -0 $server
		sleep 0.1
	done
	"$overtake" perf $networks/large-1000us.ovm --device "$device" --in-flight 3 --frames 0 > "$work/large.txt" &
	large=$!
	"$overtake" perf "$1" --device "$device" --period-us 250000 --frames 0 > "$work/resnet18.txt" &
	resnet18=$!
	"$overtake" trace --device "$device" --duration 20 --record "$2" > "$work/trace.txt" &
	trace=$!
	"$overtake" latency --device "$device" --duration 20 --by model --blame 2 > "$work/latency.txt" &
	latency=$!
	"$overtake" perf $networks/detector.ovm --device "$device" --priority 255 --period-us 33333 --frames 600
	wait $trace $latency
	kill -TERM $large $resnet18
	wait $large $resnet18
	kill -TERM $server
	wait $server || :
	printf '\n$ overtake latency --by model --blame 2\n'
	cat "$work/latency.txt" "$work/trace.txt"
}

# draw RECORDING PICTURE: the 40 ms around the job of priority 255 that was slowest beside resnet18
draw()
{
	"$overtake" sim "$1" -o "$work/run.json" > "$work/sim.txt"
	middle=$(/usr/bin/python3 - "$1" "$work/run.json" <<'EOF'
import json, sys
jobs = {job["id"]: job for job in json.load(open(sys.argv[1]))["jobs"]}
ends, beside = {}, []
for fc in json.load(open(sys.argv[2]))["fcs"]:
    ends[fc["job"]] = fc["end"]
    if jobs[fc["job"]]["class"].startswith("resnet18"):
        beside.append((fc["start"], fc["end"]))
high = [name for name, job in jobs.items() if job["priority"] == 255 and name in ends and job["at"] > 1e9
        and any(start < job["at"] < end for start, end in beside)]
slowest = max(high, key=lambda name: ends[name] - jobs[name]["at"])
print((jobs[slowest]["at"] + ends[slowest]) // 2000)
EOF
	)
	"$overtake" sim "$1" --from $((middle - 20000))us --to $((middle + 20000))us --png "$2" > "$work/sim.txt"
}

[ -e $networks/large-1000us.ovm ] && [ -e $networks/resnet18.ovm ] || scripts/prepare-networks.sh
echo "== the symptom, and who is to blame"
measure $networks/resnet18.ovm "$work/before.json"
draw "$work/before.json" "$pictures/late-before.png"
echo "== what if"
say sim "$work/before.json" --what-if resnet18.max_time_per_fc=1000
echo "== the cure"
say compile build/release/models/resnet18.onnx --calibration build/release/models/resnet18_calibration.npy \
	--max-time-per-fc 1000 -o "$work/resnet18.ovm"
measure "$work/resnet18.ovm" "$work/after.json"
draw "$work/after.json" "$pictures/late-after.png"
