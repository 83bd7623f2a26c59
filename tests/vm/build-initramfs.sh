#!/bin/sh
# SPDX-License-Identifier: MIT
# Build the initramfs that tests/vm/run boots: busybox, guest-init, and the kernel modules that are needed
# to mount the host's root. Prints its path.
#
#   tests/vm/build-initramfs.sh VERSION|debug
set -eu
vm=$(cd "$(dirname "$0")" && pwd)
cd "$vm/../.."
. scripts/kernels.sh

version=$1
image=build/vm/initramfs-$version.cpio.gz
mkdir -p build/vm
if [ "$image" -nt "$vm/guest-init" ] && [ "$image" -nt "$vm/build-initramfs.sh" ] &&
	[ "$image" -nt "$(kernel_image "$version")" ]; then
	echo "$image"
	exit
fi

root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
mkdir -p "$root/bin" "$root/modules" "$root/dev" "$root/proc" "$root/sys"
cp "$(command -v busybox || echo /bin/busybox)" "$root/bin/busybox"
for applet in $("$root/bin/busybox" --list); do
	[ "$applet" = busybox ] || ln -s busybox "$root/bin/$applet"
done
cp "$vm/guest-init" "$root/init"
chmod +x "$root/init"

# The modules, which the debug kernel has built in.
: > "$root/modules/order"
if [ "$version" != debug ]; then
	for module in virtio_pci virtio_console 9pnet_virtio 9p overlay; do
		/sbin/modprobe -d "$(kernel_modules_root "$version")" -S "$version" --show-depends "$module"
	done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }' | while read -r file; do
		name=$(basename "$file" .xz)
		case $file in
		*.xz) xz -dc "$file" > "$root/modules/$name" ;;
		*) cp "$file" "$root/modules/" ;;
		esac
		echo "$name" >> "$root/modules/order"
	done
fi

# A rename replaces the image at once: another run may be reading the old one.
(cd "$root" && find . | cpio --quiet -o -H newc | gzip -1) > "$image.$$"
mv "$image.$$" "$image"
echo "$image"
