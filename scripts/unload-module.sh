#!/bin/sh
# SPDX-License-Identifier: MIT
# Unload overtake.ko. When a client has exited, io_uring's own clean-up still holds the device file for a
# moment, and with it the module; this waits for that, 30 s at most.
attempts=300
until rmmod overtake 2> /dev/null; do
	attempts=$((attempts - 1))
	if [ $attempts = 0 ]; then
		rmmod overtake # for its message
		exit
	fi
	sleep 0.1
done
