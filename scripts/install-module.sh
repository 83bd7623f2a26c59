#!/bin/sh
# SPDX-License-Identifier: MIT
# Build overtake.ko for one kernel and install it where modprobe finds it; or remove it.
#
#   scripts/install-module.sh install|uninstall [VERSION]
#
# VERSION    a kernel release with headers; default: the running one if it is Linux 6.12 or 7.3, else the
#            newest installed one of these
#
# Users other than root need sudo. The script does not load the module.
set -eu
cd "$(dirname "$0")/.."
. scripts/kernels.sh

fail()
{
	echo "install-kmod: $*" >&2
	exit 1
}

as_root()
{
	if [ "$(id -u)" = 0 ]; then
		"$@"
	else
		sudo "$@"
	fi
}

running=$(uname -r)
version=${2-}
if [ -z "$version" ]; then
	if is_shown "$running"; then
		version=$running
	else
		version=$(default_kernel)
	fi
fi
directory=/lib/modules/$version/updates
module=$directory/overtake.ko

case ${1-} in
install)
	[ -d "/lib/modules/$version" ] ||
		fail "Linux $version is not installed (there is no /lib/modules/$version)"
	built=$(scripts/build-module.sh --kernel "$version") || exit 1
	built=$(printf '%s\n' "$built" | tail -n 1)
	stripped=${built%.ko}.stripped
	strip --strip-debug -o "$stripped" "$built"
	as_root install -D -m 644 "$stripped" "$module"
	rm "$stripped"
	as_root /sbin/depmod "$version"
	echo "install-kmod: installed $module and ran depmod for Linux $version; nothing is loaded"
	if [ "$version" = "$running" ]; then
		echo "install-kmod: load it with: sudo modprobe overtake"
	else
		echo "install-kmod: this machine runs Linux $running: boot $version, then: sudo modprobe overtake"
	fi
	echo "install-kmod: undo with: make uninstall-kmod KERNEL=$version"
	;;
uninstall)
	[ -e "$module" ] || fail "there is no $module: nothing was installed for Linux $version"
	as_root rm "$module"
	as_root rmdir --ignore-fail-on-non-empty "$directory"
	as_root /sbin/depmod "$version"
	echo "install-kmod: removed $module and ran depmod for Linux $version"
	! grep -q '^overtake ' /proc/modules ||
		echo "install-kmod: the module is still loaded: sudo rmmod overtake"
	;;
*)
	echo "usage: scripts/install-module.sh install|uninstall [VERSION]" >&2
	exit 2
	;;
esac
