#!/bin/bash
# SPDX-License-Identifier: MIT
# Install the files of build/release below PREFIX, or remove the files that it installed there.
#
#   scripts/install.sh install|uninstall
#
# PREFIX     the one that build/release was configured with (default /usr/local)
# DESTDIR    a root to install into instead of /
# BUILD      the build directory (default build/release)
# SCRATCH    a directory for staged files, lists and the log (default: BUILD)
#
# PREFIX/share/overtake/installed lists the installed files, and the directories that were made for
# them. Users who may not write below PREFIX need sudo.
set -eu -o pipefail
cd "$(dirname "$0")/.."
umask 022
prefix=$(realpath -ms -- "${PREFIX:-/usr/local}") # as CMake writes it
root=${DESTDIR-}
build=${BUILD:-build/release}
scratch=${SCRATCH:-$build}
list=$prefix/share/overtake/installed

fail()
{
	echo "install: $*" >&2
	exit 1
}

# existing DIRECTORY: prints the nearest directory above it that exists, or itself.
existing()
{
	local directory=$1
	until [ -d "$directory" ]; do
		directory=$(dirname "$directory")
	done
	echo "$directory"
}

needs_sudo()
{
	[ "$(id -u)" != 0 ] && [ ! -w "$(existing "$root$prefix")" ]
}

as_owner()
{
	if needs_sudo; then
		sudo "$@"
	else
		"$@"
	fi
}

# Makes a running system notice new libraries (ldconfig) and the owners of device nodes (udev).
refresh()
{
	[ -z "$root" ] || return 0
	[ "$(id -u)" = 0 ] || needs_sudo || return 0
	as_owner sh -c 'PATH=$PATH:/sbin:/usr/sbin; ldconfig; udevadm trigger --subsystem-match=accel' \
		2> /dev/null || true
}

# remove LIST: removes the files in LIST, then its directories that are empty, deepest first
remove()
{
	local files=() directories=() path
	while IFS= read -r path; do
		case $path in
		*/) directories+=("$root${path%/}") ;;
		*) files+=("$root$path") ;;
		esac
	done < "$1"
	as_owner rm -f -- "${files[@]}"
	[ ${#directories[@]} = 0 ] || printf '%s\0' "${directories[@]}" | sort -rz |
		as_owner xargs -0 rmdir --ignore-fail-on-non-empty --
}

# Installs into a directory of the build as the user, so that root owns no file of the build.
stage()
{
	configured=$(sed -n 's/^CMAKE_INSTALL_PREFIX:[A-Z]*=//p' "$build/CMakeCache.txt" 2> /dev/null) ||
		fail "$build is not a build: run 'make build' first"
	[ "$configured" = "$prefix" ] ||
		fail "$build is configured for $configured: run 'cmake --preset release" \
			"-DCMAKE_INSTALL_PREFIX=$prefix' and build again, or 'make install PREFIX=$prefix'"
	rm -rf "$stage"
	DESTDIR=$stage cmake --install "$build" > "$scratch/install.log" || fail "see $scratch/install.log"
}

# Prints the files, links and missing directories that `install` is about to make.
contents()
{
	(cd "$stage" && find . ! -type d) | sed 's/^\.//'
	(cd "$stage" && find . -mindepth 1 -type d) | sed 's/^\.//' | while IFS= read -r directory; do
		[ -d "$root$directory" ] || echo "$directory/"
	done
	echo "$list"
	[ -d "$root${list%/*}" ] || [ -d "$stage${list%/*}" ] || echo "${list%/*}/"
}

case ${1-} in
install)
	mkdir -p "$build"
	mkdir -p "$scratch"
	stage=$(cd "$scratch" && pwd)/stage
	stage
	before=$(mktemp)
	trap 'rm -f "$before"' EXIT
	[ ! -e "$root$list" ] || sort "$root$list" > "$before"
	{
		contents
		grep '/$' "$before" || true # directories that an earlier installation made
	} | sort -u > "$scratch/installed"
	as_owner mkdir -p "$root/"
	# The list comes first: if the installation is cut short, `uninstall` knows all files that may exist.
	sort -u "$before" "$scratch/installed" > "$stage.list"
	as_owner install -D -m 644 "$stage.list" "$root$list"
	# The archive has only files: tar makes missing directories, and leaves existing ones as they are.
	(cd "$stage" && find . ! -type d -print0) | tar -C "$stage" --null --files-from - -c |
		as_owner tar -C "$root/" -x --no-same-owner
	# Files and directories of an earlier installation that this one lacks.
	comm -23 "$before" "$scratch/installed" > "$stage.list"
	remove "$stage.list"
	as_owner install -m 644 "$scratch/installed" "$root$list"
	rm -rf "$stage" "$stage.list"
	refresh
	echo "install: $(grep -vc '/$' "$scratch/installed") files below $root$prefix, listed in $root$list"
	echo "install: undo with: make uninstall PREFIX=$prefix${root:+ DESTDIR=$root}"
	;;
uninstall)
	[ -e "$root$list" ] ||
		fail "there is no $root$list: nothing was installed there; give the same PREFIX=... and DESTDIR=... as for make install"
	copy=$(mktemp)
	trap 'rm -f "$copy"' EXIT
	cp "$root$list" "$copy"
	remove "$copy"
	refresh
	echo "install: removed $(grep -vc '/$' "$copy") files below $root$prefix"
	;;
*)
	echo "usage: scripts/install.sh install|uninstall" >&2
	exit 2
	;;
esac
