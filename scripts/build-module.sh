#!/bin/sh
# SPDX-License-Identifier: MIT
# Build overtake.ko for one kernel:
#
#   scripts/build-module.sh [--kernel VERSION|debug] [--output DIRECTORY] [KBUILD-ARGUMENT...]
#
# VERSION    a release with headers in /lib/modules/VERSION/build; default: the newest 6.12 or 7.3
# debug      the tree that `make debug-kernel` leaves in build/debug-kernel
#
# kbuild compiles the sources through a tree of symbolic links, which is DIRECTORY, or build/kmod,
# build/kmod-VERSION or build/kmod-debug. So no object file lands beside a source, and each kernel has
# its own objects. Prints the module's path as the last line. Further arguments go to kbuild: W=1, C=1, ...
set -eu
cd "$(dirname "$0")/.."
. scripts/kernels.sh

version=
farm=
while :; do
	case ${1-} in
	--kernel) version=$2 ;;
	--output) farm=$2 ;;
	*) break ;;
	esac
	shift 2
done
[ -n "$version" ] || version=$(default_kernel)
tree=$(kernel_build_tree "$version")
[ -n "$farm" ] || farm=$(module_directory "$version")

if [ ! -e kmod/Kbuild ]; then
	echo "build-module: there is no kmod/Kbuild: nothing to build" >&2
	exit 1
fi
if [ ! -e "$tree/Makefile" ]; then
	echo "build-module: no headers of Linux $version in $tree: sudo apt-get install linux-headers-$version" \
		"(for debug: 'make debug-kernel')" >&2
	exit 1
fi

mkdir -p "$farm"
farm=$(cd "$farm" && pwd)
exec 9> "$farm/.lock"
flock 9 # one builder at a time; a second one finds all objects compiled

# kbuild accepts no path with white space, so such a checkout is built elsewhere.
result=$farm/overtake.ko
case $farm in
*[[:space:]]*)
	farm=/var/tmp/overtake-kmod-$(id -u)-$(printf %s "$farm" | cksum | tr ' ' -)
	(umask 077 && mkdir -p "$farm")
	if [ ! -O "$farm" ] || [ -L "$farm" ]; then
		echo "build-module: $farm belongs to another user: remove it, or use a checkout whose path" \
			"has no white space" >&2
		exit 1
	fi
	;;
esac

for directory in kmod firmware-sim uapi; do
	[ ! -d "$directory" ] || cp -asf "$PWD/$directory" "$farm/"
done
find "$farm" -xtype l -delete # links to sources that were removed since the last build

# Warnings are errors for developers and CI only, as in CMakePresets.json.
[ "${OVERTAKE_WERROR:-OFF}" != ON ] || set -- KCFLAGS=-Werror "$@"
make -s -C "$tree" M="$farm/kmod" -j "$(nproc)" "$@" modules >&2
cp -u "$farm/kmod/overtake.ko" "$result"
echo "$result"
