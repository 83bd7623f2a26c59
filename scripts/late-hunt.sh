#!/bin/sh
# SPDX-License-Identifier: MIT
# The hunt of docs/why-late.md: three programs on a device server, whose detector is late now and then.
#
#   scripts/late-hunt.sh [DIRECTORY]
#
# Runs every step of the page and prints what it says; writes the page's pictures, late-before.png and
# late-after.png, to DIRECTORY (docs/pictures). Takes a minute. Needs `make build`; compiles the
# networks if they are not there. The pictures are of moments that the recordings have: look at them.
set -eu
cd "$(dirname "$0")/.."
pictures=${1:-docs/pictures}
networks=build/networks
overtake=build/bin/overtake
work=$(mktemp -d)
device=server:$work/device
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

# measure RESNET18 RECORDING: the three programs for 20 s, the last 10 of them watched
measure()
{
	"$overtake" serve --cores 1 --core-limit 1 --mode timed --socket "$work/device" > "$work/serve.txt" &
	server=$!
	until [ -S "$work/device" ]; do
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

# moment RECORDING: around the detector's slowest job, as "--from A --to B" takes it, in microseconds
moment()
{
	"$overtake" sim "$1" -o "$work/run.json" > "$work/sim.txt"
	/usr/bin/python3 - "$work/run.json" <<'EOF'
import json, sys
fcs = json.load(open(sys.argv[1]))["fcs"]
slowest = max((job for job in fcs if job.get("ring") == "high"), key=lambda job: job["end"] - job["arrival"])
middle = (slowest["arrival"] + slowest["end"]) // 2
print(middle)
EOF
}

[ -e $networks/large-1000us.ovm ] && [ -e $networks/resnet18.ovm ] || scripts/prepare-networks.sh
echo "== the symptom"
measure $networks/resnet18.ovm "$work/before.json"
echo "== what if"
say sim "$work/before.json" --what-if resnet18.max_time_per_fc=1000
cp "$work/before.json" /tmp/before.json
moment "$work/before.json"
echo "$pictures"
