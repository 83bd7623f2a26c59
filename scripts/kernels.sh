# SPDX-License-Identifier: MIT
# Sourced by the scripts that deal with more than one kernel: where is what, for a VERSION that is
# a release such as 6.12.95+deb12-amd64, or the word debug. The directory is the project's root.

# The newest 6.12 with both an image and headers; fails when there is none.
default_kernel()
{
	for image in /boot/vmlinuz-6.12.* build/vm/kernel/boot/vmlinuz-6.12.*; do
		[ ! -e "/usr/src/linux-headers-${image#*/vmlinuz-}" ] || echo "${image#*/vmlinuz-}"
	done | sort -V | tail -n 1 | grep . || {
		echo "no Linux 6.12 image with headers: run 'make setup'" >&2
		return 1
	}
}

# kernel_image VERSION: what QEMU boots
kernel_image()
{
	if [ "$1" = debug ]; then
		echo build/debug-kernel/arch/x86/boot/bzImage
	elif [ -e "/boot/vmlinuz-$1" ]; then
		echo "/boot/vmlinuz-$1"
	else
		echo "build/vm/kernel/boot/vmlinuz-$1"
	fi
}

# kernel_build_tree VERSION: what kbuild compiles a module against
kernel_build_tree()
{
	if [ "$1" = debug ]; then
		echo "$PWD/build/debug-kernel"
	else
		echo "/usr/src/linux-headers-$1"
	fi
}

# kernel_modules_root VERSION: the directory whose lib/modules has this kernel's own modules
kernel_modules_root()
{
	if [ "$1" = debug ]; then
		echo "$PWD/build/debug-kernel/installed"
	elif [ -e "/lib/modules/$1/modules.dep" ]; then
		echo /
	else
		echo "$PWD/build/vm/kernel"
	fi
}

# module_directory VERSION: where overtake.ko for this kernel is built
module_directory()
{
	case $1 in
	debug) echo build/kmod-debug ;;
	"$(default_kernel)") echo build/kmod ;;
	*) echo "build/kmod-$1" ;;
	esac
}
