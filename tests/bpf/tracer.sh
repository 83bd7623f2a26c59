# SPDX-License-Identifier: MIT
# For tests that run bpftrace; to be sourced.

# end_tracer PID LOG: interrupts a bpftrace of this shell and waits for its end. bpftrace 0.17 sees an
# interrupt only while it waits for events: one that came at another time is sent again. Not to one that
# writes its maps to LOG, though, which a second interrupt would end.
end_tracer()
{
	local tracer=$1 log=$2 quiet=0 before now
	before=$(stat -c %s "$log")
	kill -INT "$tracer"
	while kill -0 "$tracer" 2> /dev/null; do
		sleep 0.1
		now=$(stat -c %s "$log")
		quiet=$((now == before ? quiet + 1 : 0))
		before=$now
		if [ $quiet = 100 ]; then
			echo "# $log: interrupted once more"
			kill -INT "$tracer" 2> /dev/null
			quiet=0
		fi
	done
	wait "$tracer"
}
