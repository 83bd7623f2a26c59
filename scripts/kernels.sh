# SPDX-License-Identifier: MIT
# Functions for the scripts that deal with several kernels. VERSION is a release such as
# 6.12.95+deb12-amd64, or the word debug. The current directory is the project's root.

# is_shown VERSION: whether the module's tests have passed on a kernel of this series (make kernel-matrix)
is_shown()
{
	case $1 in
	6.12.* | 7.3.*) return 0 ;;
	*) return 1 ;;
	esac
}

# Prints the newest release of these series that has both an image and headers; fails if there is none.
default_kernel()
{
	for tree in /usr/src/linux-headers-*; do
		version=${tree#/usr/src/linux-headers-}
		! is_shown "$version" || [ ! -e "$(kernel_image "$version")" ] || echo "$version"
	done | sort -V | tail -n 1 | grep . || {
		echo "no image of Linux 6.12 or 7.3 with headers: run 'make setup'" >&2
		return 1
	}
}

# kernel_image VERSION: the image that QEMU boots
kernel_image()
{
	if [ "$1" = debug ]; then
		echo build/debug-kernel/arch/x86/boot/bzImage
	else
		# Packages of 7.3 have the image among the modules, and copy it to /boot when they are configured.
		for image in "/boot/vmlinuz-$1" "/lib/modules/$1/vmlinuz" "build/vm/kernel/lib/modules/$1/vmlinuz"; do
			[ ! -e "$image" ] || break
			image=build/vm/kernel/boot/vmlinuz-$1
		done
		echo "$image"
	fi
}

# kernel_build_tree VERSION: the tree against which kbuild compiles a module
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
