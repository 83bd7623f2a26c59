#!/bin/sh
# SPDX-License-Identifier: MIT
# Build the Debian packages of this checkout into build/deb, as debian/ describes, with JOBS processes.
#
# The build takes a copy of the tracked files as they are in the working tree, and so writes no file
# beside a source. It makes no packages of debug symbols, which would double time and space.
set -eu
cd "$(dirname "$0")/.."

fail()
{
	echo "deb: $*" >&2
	exit 1
}

version=$(dpkg-parsechangelog --show-field Version)
project=$(sed -nE 's/^project\(overtake VERSION ([0-9.]+) .*/\1/p' CMakeLists.txt)
[ "$version" = "$project" ] ||
	fail "debian/changelog says $version, CMakeLists.txt $project: make them equal"

out=$PWD/build/deb
copy=$out/overtake-$version
mkdir -p "$out"
rm -rf "$copy" "$out"/*.deb "$out"/*.changes "$out"/*.buildinfo
mkdir "$copy"
# Another user may own the checkout; git then lists its files only as a safe.directory.
git -c safe.directory="$PWD" ls-files -z --cached > "$out/files" ||
	fail "this is not a git checkout: packages are built from tracked files"
tar -c --null --files-from "$out/files" --ignore-failed-read | tar -x -C "$copy"
rm "$out/files"

echo "deb: building $version in $copy (log: $out/build.log)"
(
	cd "$copy"
	DEB_BUILD_OPTIONS="noautodbgsym parallel=${JOBS:-$(nproc)}" DEB_CFLAGS_STRIP=-g DEB_CXXFLAGS_STRIP=-g \
		dpkg-buildpackage -b -us -uc
) > "$out/build.log" 2>&1 || {
	tail -n 20 "$out/build.log" >&2
	fail "dpkg-buildpackage failed (whole log: $out/build.log)"
}
ls "$out"/*.deb
