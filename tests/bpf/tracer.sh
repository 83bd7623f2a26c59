# SPDX-License-Identifier: MIT
# A function for tests that run bpftrace.

# end_tracer PID LOG: interrupts a bpftrace of this shell and waits for its end. bpftrace 0.17 notices an
# interrupt only while it waits for events, so this function sends the interrupt again. It does not while
# bpftrace writes its maps to LOG: a second interrupt would end that.
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
