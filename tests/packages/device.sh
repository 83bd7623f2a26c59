# SPDX-License-Identifier: MIT
# Functions for tests in the VM: TAP lines, and a udev daemon.
failed=0

# check NAME COMMAND...: checks that the command succeeds, and else shows its output
check()
{
	local name=$1
	shift
	if "$@" > /tmp/check.log 2>&1; then
		echo "ok packages $name"
	else
		echo "not ok packages $name - $*"
		sed 's/^/# /' /tmp/check.log
		[ ! -e "${log-}" ] || sed 's/^/# /' "$log"
		failed=1
	fi
}

# check_not NAME COMMAND...: checks that the command fails
check_not()
{
	local name=$1
	shift
	check "$name" fails "$@"
}

fails()
{
	! "$@"
}

# Hides this kernel's modules except those that the driver needs: depmod reads every module, which takes
# minutes on an emulated CPU.
keep_few_modules()
{
	local tree few module
	tree=/lib/modules/$(uname -r)
	few=$(mktemp -d)
	cp "$tree"/modules.order "$tree"/modules.builtin* "$few"
	for module in $(modprobe --show-depends drm_shmem_helper | sed -n 's/^insmod //p'); do
		install -D "$module" "$few/${module#"$tree"/}"
	done
	mount --bind "$few" "$tree"
	depmod
}

start_udev()
{
	local daemon
	for daemon in /usr/lib/systemd/systemd-udevd /lib/systemd/systemd-udevd; do
		[ ! -x $daemon ] || { $daemon --daemon; return; }
	done
	echo "# udev is not installed" >&2
	return 1
}

stop_udev()
{
	udevadm control --exit
}
