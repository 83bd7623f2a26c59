#!/bin/sh
# SPDX-License-Identifier: MIT
# Unload overtake.ko. After a client has exited, io_uring's clean-up still holds the device file, and so the
# module, for a moment; this script waits for it, 30 s at most.
attempts=300
until rmmod overtake 2> /dev/null; do
	attempts=$((attempts - 1))
	if [ $attempts = 0 ]; then
		rmmod overtake # prints why it fails
		exit
	fi
	sleep 0.1
done
