#!/bin/sh
# SPDX-License-Identifier: MIT
# Install the Debian packages that a part of the project needs, and name them.
#
#   scripts/setup.sh build|kmod|vm|test|deb|docs|coverage|bench|fuzz|debug-kernel|fresh|zoo|clusters|all
#
# If no package is missing, the script ends quickly and silently. Debian 12 has Linux 6.12 and QEMU 10 in
# bookworm-backports; the script adds this suite, from the machine's own apt sources, if apt does not know
# it. Debian 13 has both. Only an installation needs root or sudo. build/setup.installed lists the packages
# that were new, with the commands that remove them.
set -eu
cd "$(dirname "$0")/.."
. scripts/kernels.sh

# User space: runtime, compiler, command, their tests. Only the Python package needs pybind11 and Python's headers.
build_packages="build-essential cmake ninja-build pkg-config
	libcmocka-dev libgtest-dev libgmock-dev liburing-dev libdrm-dev libbpf-dev libseccomp-dev clang
	libonnx-dev libprotobuf-dev protobuf-compiler libdnnl-dev libflatbuffers-dev flatbuffers-compiler
	libcli11-dev nlohmann-json3-dev libfmt-dev libyaml-cpp-dev libpng-dev libturbojpeg0-dev librsvg2-bin libcpp-httplib-dev
	python3 python3-dev python3-numpy python3-onnx libblas3 liblapack3 pybind11-dev systemtap-sdt-dev"

# The kernel module. dwarves has pahole, which writes the module's BTF.
kmod_packages="build-essential bc kmod libelf-dev dwarves"
kmod_packages_6_12="linux-headers-amd64"

# The VM: QEMU, the initramfs, and the programs that the demo and the tests run inside. Tests of access rights
# need udev and setcap (libcap2-bin).
vm_packages="busybox-static cpio xz-utils kmod python3 bpftrace udev libcap2-bin"
vm_packages_6_12="qemu-system-x86"

# Networks and pictures for the tests; the checker of the protocol model (spin); the kernel's own style
# checker, from its source; a C library for a 32-bit client; XGBoost, by which overtake calibrate --partition
# grows its trees.
test_packages="libonnx-testdata python3-pil python3-matplotlib fonts-dejavu-core fonts-liberation sparse spin xz-utils
	gcc-multilib libc6-dev-i386 libxgboost0 doxygen"
test_packages_6_12="linux-source-6.12"

# Debian packages, and lintian, which checks them; DKMS compiles the module as it would after an installation.
deb_packages="debhelper dpkg-dev dh-dkms dh-python dkms lintian"

# The site of the pages, with the reference of the C++ API.
docs_packages="doxygen python3-sphinx python3-myst-parser furo"

coverage_packages="gcovr"

# Packages that only benchmarks need beside those of the build.
bench_packages="python3-scipy libbenchmark-dev libxnnpack-dev libcpuinfo-dev libpthreadpool-dev"

# libFuzzer and its sanitizers.
fuzz_packages="clang libclang-rt-dev"

# Bare systems of both releases, for the README's commands: make fresh.
fresh_packages="debootstrap git util-linux"

# Pictures and speech for trained networks; npm, which downloads them, may come from elsewhere.
zoo_packages="python3-pil fonts-dejavu-core fonts-liberation espeak-ng"

# Sweeps over dask workers and Slurm nodes, on one machine: tests/python/run-clusters. `all` leaves these
# packages out, since Slurm and munge are services.
clusters_packages="python3-distributed slurm-wlm munge"

debug_kernel_packages="build-essential bc bison flex libelf-dev libssl-dev dwarves cpio xz-utils kmod python3"
debug_kernel_packages_6_12="linux-source-6.12"

fail()
{
	echo "setup: $*" >&2
	exit 1
}

is_installed()
{
	[ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2> /dev/null)" = installed ]
}

# missing PACKAGE...: prints the packages that are not installed, each once
missing()
{
	for package; do
		is_installed "$package" || echo "$package"
	done | sort -u | tr '\n' ' '
}

as_root()
{
	if [ "$(id -u)" = 0 ]; then
		env DEBIAN_FRONTEND=noninteractive "$@"
	else
		sudo env DEBIAN_FRONTEND=noninteractive "$@"
	fi
}

debian_release()
{
	[ -r /etc/os-release ] || return 0
	# shellcheck disable=SC1091
	(. /etc/os-release && [ "$ID" = debian ] && echo "${VERSION_ID-}") || true
}

# The directory of apt's sources; the tests have another one.
apt_directory=${OVERTAKE_APT_DIRECTORY:-/etc/apt}

# Prints the URIs of Debian's own archives, one a line, as apt knows them from the archives' Release files:
# archives of other origins have suites named bookworm, too. Prints nothing before the first apt-get update.
debian_archives()
{
	if [ -n "${OVERTAKE_DEBIAN_ARCHIVES-}" ]; then
		echo "$OVERTAKE_DEBIAN_ARCHIVES"
		return
	fi
	apt-get indextargets --format '$(REPO_URI)' 'Origin: Debian' 'Created-By: Packages' | sed 's|/$||' | sort -u
}

# An awk function: whether $debians has the URI as a line, or is empty.
is_debians='
	function is_debians(uri, i, all, count) {
		sub(/\/$/, "", uri)
		count = split(ENVIRON["debians"], all, "\n")
		for (i = 1; i <= count; i++)
			if (all[i] == uri)
				return 1
		return count == 0
	}'

# These two functions print the machine's own source of Debian 12, changed to name bookworm-backports,
# one as a deb822 stanza, the other as a line. They print nothing if there is no such source. The suite
# may be bookworm or bookworm-updates, but not bookworm-security, whose archive has no backports. An
# installation medium (cdrom:) has none either.
backports_deb822()
{
	for file in "$apt_directory"/sources.list.d/*.sources; do
		[ ! -e "$file" ] || debians="$(debian_archives)" awk "$is_debians"'
			BEGIN { RS = ""; FS = "\n" }
			/(^|\n)Enabled: *([Nn]o|[Ff]alse|0)/ { next }
			/(^|\n)Types:([^\n]* )?deb( |\n|$)/ && /(^|\n)Components:([^\n]* )?main( |\n|$)/ &&
			/(^|\n)Suites:([^\n]* )?bookworm(-updates)?( |\n|$)/ && !/(^|\n)URIs: *cdrom:/ {
				uri = $0
				sub(/(^|.*\n)URIs: */, "", uri)
				sub(/[ \n].*/, "", uri)
				if (!is_debians(uri))
					next
				for (i = 1; i <= NF; i++) {
					if ($i ~ /^#/)
						continue
					if ($i ~ /^Suites:/)
						$i = "Suites: bookworm-backports"
					print $i
				}
				exit
			}' "$file"
	done | awk '/^Types:/ && seen++ { exit } { print }'
}

backports_one_line()
{
	cat "$apt_directory"/sources.list "$apt_directory"/sources.list.d/*.list 2> /dev/null |
		sed 's/#.*//' | grep -E '^[[:space:]]*deb[[:space:]]' | grep -v 'cdrom:' |
		grep -E '[[:space:]]bookworm(-updates)?[[:space:]](.*[[:space:]])?main([[:space:]]|$)' |
		debians="$(debian_archives)" awk "$is_debians"'{
				uri = $0
				sub(/^[ \t]*deb[ \t]+(\[[^]]*\][ \t]+)?/, "", uri)
				sub(/[ \t].*/, "", uri)
				if (is_debians(uri)) {
					print
					exit
				}
			}' |
		sed -E 's/[[:space:]]bookworm(-updates)?[[:space:]]/ bookworm-backports /'
}

add_backports()
{
	if apt-cache policy | grep -q 'n=bookworm-backports'; then
		return
	fi
	[ -n "$(debian_archives)" ] || as_root apt-get update > "$log" 2>&1 || true
	stanza=$(backports_deb822)
	line=$(backports_one_line)
	if [ -n "$stanza" ]; then
		list=$apt_directory/sources.list.d/bookworm-backports.sources
		text=$stanza
	elif [ -n "$line" ]; then
		list=$apt_directory/sources.list.d/bookworm-backports.list
		text=$line
	else
		fail "found no apt source of bookworm to derive bookworm-backports from: add that suite to" \
			"$apt_directory by hand and run this again"
	fi
	if [ ! -e "$list" ]; then
		echo "setup: adding the suite bookworm-backports (to undo: rm $list): $list"
		printf '%s\n' "$text" | as_root tee "$list" > /dev/null
	fi
}

# install [-t SUITE] PACKAGE...
install()
{
	echo "setup: installing: $*"
	as_root apt-get install -y --no-install-recommends "$@" > "$log" 2>&1 || {
		tail -n 5 "$log" >&2
		fail "apt-get could not install these packages: check the network and the apt sources," \
			"or install them by hand (whole log: $log)"
	}
}

list_installed()
{
	dpkg-query -W -f '${db:Status-Status} ${Package}\n' | sed -n 's/^installed //p' | sort -u
}

# say_how_to_undo INSTALLED-BEFORE: adds the new packages to build/setup.installed
say_how_to_undo()
{
	list_installed | comm -13 "$1" - | cat build/setup.installed - 2> /dev/null |
		grep -v '^#' | sort -u > build/setup.installed.new || true
	{
		echo "# Packages that scripts/setup.sh installed; to remove them again:"
		echo "#   sudo apt-get purge \$(grep -v '^#' build/setup.installed)"
		[ -z "${list-}" ] || echo "#   sudo rm $list"
		grep '^#   sudo rm' build/setup.installed 2> /dev/null || true
		cat build/setup.installed.new
	} > build/setup.installed.whole
	rm build/setup.installed.new
	mv build/setup.installed.whole build/setup.installed
	echo "setup: $(grep -cv '^#' build/setup.installed) packages are new; build/setup.installed says how to remove them"
}

# Debian's package of headers of 6.12 depends on the image of the same version, that of 7.3 does not. Without
# an image, this function unpacks one into build/vm/kernel, where the VM harness also looks.
provide_kernel_image()
{
	! default_kernel > /dev/null 2>&1 || return 0
	version=$(for tree in /usr/src/linux-headers-*-amd64; do
		! is_shown "${tree#/usr/src/linux-headers-}" || echo "${tree#/usr/src/linux-headers-}"
	done | sort -V | tail -n 1)
	[ -n "$version" ] || fail "these headers are for neither Linux 6.12 nor 7.3: $(echo /usr/src/linux-headers-*)"
	echo "setup: unpacking the image of Linux $version into build/vm/kernel (not installed)"
	mkdir -p build/vm/kernel
	(
		cd build/vm/kernel
		for package in linux-base linux-image linux-binary linux-modules; do
			apt-cache show "$package-$version" > /dev/null 2>&1 || continue
			apt-get download "$package-$version" > "$log" 2>&1 ||
				fail "could not download $package-$version (log: $log)"
			dpkg -x "$package-$version"_*.deb .
			rm "$package-$version"_*.deb
		done
		[ -e lib ] || ln -s usr/lib lib # merged /usr
		depmod -b "$PWD" "$version"
	)
}

part=${1-all}
# For other systems, where the needed software is installed already.
[ -z "${OVERTAKE_NO_SETUP-}" ] || exit 0
case $part in
build) packages=$build_packages packages_6_12= ;;
kmod)
	packages="$build_packages $kmod_packages"
	packages_6_12=$kmod_packages_6_12
	;;
vm)
	packages="$build_packages $kmod_packages $vm_packages"
	packages_6_12="$kmod_packages_6_12 $vm_packages_6_12"
	;;
test)
	packages="$build_packages $kmod_packages $vm_packages $test_packages"
	packages_6_12="$kmod_packages_6_12 $vm_packages_6_12 $test_packages_6_12"
	;;
deb) packages="$build_packages $deb_packages" packages_6_12= ;;
docs) packages="$build_packages $docs_packages" packages_6_12= ;;
coverage) packages="$build_packages $coverage_packages" packages_6_12= ;;
bench) packages="$build_packages $bench_packages" packages_6_12= ;;
fuzz) packages="$build_packages $fuzz_packages" packages_6_12= ;;
fresh) packages=$fresh_packages packages_6_12= ;;
zoo) packages="$build_packages $zoo_packages" packages_6_12= ;;
clusters) packages="$build_packages $clusters_packages" packages_6_12= ;;
debug-kernel) packages=$debug_kernel_packages packages_6_12=$debug_kernel_packages_6_12 ;;
all)
	packages="$build_packages $kmod_packages $vm_packages $test_packages $deb_packages $docs_packages $coverage_packages
		$bench_packages $fuzz_packages $fresh_packages $zoo_packages $debug_kernel_packages"
	packages_6_12="$kmod_packages_6_12 $vm_packages_6_12 $test_packages_6_12"
	;;
*)
	echo "usage: scripts/setup.sh build|kmod|vm|test|deb|docs|coverage|bench|fuzz|debug-kernel|fresh|zoo|clusters|all" >&2
	exit 2
	;;
esac

release=$(debian_release)
case $release in
12 | 13) ;;
*)
	fail "this is not Debian 12 or 13, the only systems this has been tried on: install the equivalents of" \
		$packages $packages_6_12 "(for the VM: headers and image of Linux 6.12, QEMU 10), then set" \
		"OVERTAKE_NO_SETUP=1 in the environment"
	;;
esac
[ "$(dpkg --print-architecture)" = amd64 ] || fail "only amd64 is supported"

# A package of the second list must also be recent enough: Debian 12 itself has Linux 6.1 and QEMU 7.2
# under the same names.
is_recent()
{
	version=$(dpkg-query -W -f '${Version}' "$1")
	case $1 in
	linux-headers-amd64) dpkg --compare-versions "$version" ge 6.12 ;;
	qemu-system-x86) dpkg --compare-versions "${version#*:}" ge 10 ;;
	esac
}
missing_6_12=
for package in $packages_6_12; do
	if ! is_installed "$package" || ! is_recent "$package"; then
		missing_6_12="$missing_6_12 $package"
	fi
done
missing_packages=$(missing $packages)

if [ -n "$missing_packages$missing_6_12" ]; then
	[ "$(id -u)" = 0 ] || command -v sudo > /dev/null ||
		fail "packages are missing, and you are not root and there is no sudo: $missing_packages$missing_6_12"
	mkdir -p build
	log=$PWD/build/setup.log
	suite=
	if [ -n "$missing_6_12" ] && [ "$release" = 12 ]; then
		add_backports
		suite="-t bookworm-backports"
	fi
	as_root apt-get update > "$log" 2>&1 || {
		grep '^E:' "$log" >&2 || true
		[ -z "${list-}" ] || {
			as_root rm -f "$list"
			echo "setup: took the suite bookworm-backports away again" >&2
		}
		fail "apt-get update failed: check the network and the apt sources (whole log: $log)"
	}
	installed_before=$(mktemp)
	list_installed > "$installed_before"
	# This also lists the packages of an installation that fails halfway.
	trap 'say_how_to_undo "$installed_before"; rm -f "$installed_before"' EXIT
	# The release's own packages come first: on a bare machine, backports would bring newer
	# libraries, which do not fit the -dev packages of Debian 12.
	# shellcheck disable=SC2086
	[ -z "$missing_packages" ] || install $missing_packages
	# shellcheck disable=SC2086
	[ -z "$missing_6_12" ] || install $suite $missing_6_12
fi

case $part in
kmod | vm | test | all)
	mkdir -p build
	log=$PWD/build/setup.log
	provide_kernel_image
	;;
esac
