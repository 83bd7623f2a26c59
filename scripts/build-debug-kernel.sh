#!/bin/sh
# SPDX-License-Identifier: MIT
# Build the debug kernel: Debian's Linux 6.12 source with the options of scripts/debug-kernel.config
# alone (KASAN, lockdep, kmemleak, DEBUG_OBJECTS, UBSAN, fault injection). This kernel boots only in
# the VM of tests/vm/run:
#
#   tests/vm/run --kernel debug -- COMMAND...
#
# Leaves the whole tree in build/debug-kernel, against which modules are then compiled.
set -eu
cd "$(dirname "$0")/.."
source=/usr/src/linux-source-6.12.tar.xz
fragment=$PWD/scripts/debug-kernel.config
tree=build/debug-kernel
log=$PWD/build/debug-kernel.log

[ -e $source ] || {
	echo "build-debug-kernel: no $source: run scripts/setup.sh debug-kernel" >&2
	exit 1
}

# Debian's package may have been upgraded since the tree was unpacked.
if [ ! -e $tree/.unpacked ] || [ $source -nt $tree/.unpacked ]; then
	echo "build-debug-kernel: unpacking $source"
	rm -rf $tree
	mkdir -p $tree
	tar -xJf $source -C $tree --strip-components=1
	touch $tree/.unpacked
fi
cd $tree

# kconfig silently drops an option that another one forbids: then this script stops.
if [ ! -e .config ] || [ "$fragment" -nt .config ]; then
	make -s KCONFIG_ALLCONFIG="$fragment" allnoconfig
fi
grep '^CONFIG_' "$fragment" | while IFS= read -r wanted; do
	option=${wanted%%=*}
	case $wanted in
	*=n) ! grep "^$option=" .config ;;
	*) grep -qxF "$wanted" .config ;;
	esac || {
		echo "build-debug-kernel: kconfig does not accept $wanted" >&2
		exit 1
	}
done

echo "build-debug-kernel: compiling Linux $(make -s kernelrelease); follow it in $log"
nice make -j "$(nproc)" bzImage modules > "$log" 2>&1 || {
	grep -E 'error|Error' "$log" | head -n 5 >&2
	echo "build-debug-kernel: the build failed: $log" >&2
	exit 1
}
# Installs the list of built-in modules, which modprobe in the guest needs.
make -s INSTALL_MOD_PATH="$PWD/installed" INSTALL_MOD_STRIP=1 modules_install >> "$log" 2>&1
echo "build-debug-kernel: done: tests/vm/run --kernel debug -- COMMAND..."
