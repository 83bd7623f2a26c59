#!/bin/bash
# SPDX-License-Identifier: MIT
# Compiles the module for each supported kernel, with the compiler of its release, and tests it in a VM.
#
#   scripts/kernel-matrix.sh [--suites SUITES] [--directory DIRECTORY] [KERNEL...]
#
# KERNEL   the source of a kernel: bookworm-backports (Linux 6.12 of Debian 12's backports), trixie (Linux 6.12
#          of Debian 13) or trixie-backports (the newest one of Debian 13's backports); default: all three
# SUITES   in one argument, of: kmod libruntime kmod-fuzz bpf, or all (tests/vm/suites, which needs every
#          program and network); default: "kmod libruntime kmod-fuzz"
#
# The tools in the packages of headers need the C library of their release. So DIRECTORY
# (build/kernel-matrix) has a minimal system for each release of Debian. The script fetches the last commit
# there, compiles it, and boots each kernel in that release's QEMU. Systems, packages and objects are kept
# for the next time, which takes minutes; remove DIRECTORY to begin anew, or with newer kernels. A release
# needs about 5 GB. Mirror and apt settings come from this machine.
#
# Prints a table, also kept in DIRECTORY/table: the kernel, whether the module compiled without a
# warning, tests passed, failed and skipped, and whether the kernel's log stayed silent. Logs are
# DIRECTORY/KERNEL-*.log. The exit status is 0 only if all is well. Needs root or sudo.
set -u -o pipefail
{ # bash reads this block whole before it runs: it takes long, and the checkout may change meanwhile
cd "$(dirname "$0")/.."
project=$PWD
programme=kernel-matrix
. scripts/bare-system.sh

usage()
{
	sed -n 's/^#   \(scripts\/kernel-matrix.sh.*\)/usage: \1/p' "$project/scripts/kernel-matrix.sh" >&2
	exit 2
}

directory=$project/build/kernel-matrix
suites="kmod libruntime kmod-fuzz"
inner=
while [ $# -gt 0 ]; do
	case $1 in
	--directory) directory=${2-} ;;
	--suites) suites=${2-} ;;
	--inner) inner=1 ;; # the script is in the namespaces already
	-*) usage ;;
	*) break ;;
	esac
	[ "$1" = --inner ] || [ $# -ge 2 ] || usage
	case $1 in --directory | --suites) shift ;; esac
	shift
done
[ $# -gt 0 ] || set -- bookworm-backports trixie trixie-backports
for kernel; do
	case $kernel in bookworm-backports | trixie | trixie-backports) ;; *) usage ;; esac
done
[ -n "$suites" ] || usage
for suite in $suites; do
	case $suite in kmod | libruntime | kmod-fuzz | bpf | all) ;; *) usage ;; esac
done
mkdir -p "$directory" || exit 1
directory=$(realpath "$directory")

if [ -z "$inner" ]; then
	bundle_commits
	in_namespaces "$project/scripts/kernel-matrix.sh" --inner --directory "$directory" --suites "$suites" "$@"
fi
PATH=$PATH:/usr/sbin:/sbin

# run_logged LOG ROOT COMMAND: runs COMMAND as root in the checkout, with its output in LOG
run_logged()
{
	local log=$1 root=$2
	shift 2
	in_system "$root" root "cd overtake && $*" > "$log" 2>&1
}

# prepare_system RELEASE ROOT LOG: mounts a system with the packages of the build and the VM, and the last commit
prepare_system()
{
	local release=$1 root=$2 log=$3
	[ -e "$root/var/lib/kernel-matrix" ] || {
		say "$release: making a minimal system"
		make_system "$release" "$root"
		touch "$root/var/lib/kernel-matrix"
	}
	mountpoint -q "$root/proc" || mount_system "$root"
	cp "$directory/overtake.bundle" "$root/var/overtake.bundle"
	in_system "$root" root '{ [ -d overtake ] || git -c init.defaultBranch=main init -q overtake; } && cd overtake &&
		git fetch -q /var/overtake.bundle HEAD && git reset -q --hard FETCH_HEAD' > "$log" 2>&1 || return 1
	say "$release: packages"
	run_logged "$log" "$root" scripts/setup.sh vm
}

# add_newest_kernel ROOT LOG: installs the newest kernel of trixie-backports, without an initramfs: the VM has its own
add_newest_kernel()
{
	local root=$1 log=$2 sources=$1/etc/apt/sources.list.d
	[ -e "$sources/trixie-backports.sources" ] || {
		awk 'BEGIN { RS = "" }
			sub(/\nSuites: trixie trixie-updates\n/, "\nSuites: trixie-backports\n") { print; exit }' \
			"$sources/debian.sources" > "$sources/trixie-backports.sources"
		run_logged "$log" "$root" 'apt-get update && DEBIAN_FRONTEND=noninteractive INITRD=No apt-get install -y \
			--no-install-recommends linux-headers-amd64/trixie-backports linux-image-amd64/trixie-backports' || {
			rm "$sources/trixie-backports.sources"
			return 1
		}
	}
}

# version_of KERNEL ROOT: the kernel's release
version_of()
{
	local pattern='6.12.*'
	[ "$1" != trixie-backports ] || pattern='*'
	# shellcheck disable=SC2086
	(cd "$2/usr/src" && ls -d linux-headers-$pattern-amd64) | sed 's/^linux-headers-//' | sort -V | tail -n 1
}

# targets_of SUITE: the targets that CMake has to build for it
targets_of()
{
	case $1 in
	kmod) echo kmod_tests ;;
	libruntime) # the programs that the suite names
		grep -ohE '[a-z_]+_tests\b|board_load' tests/libruntime/run-kernel | sort -u | xargs
		;;
	kmod-fuzz) echo overtake-fuzz-uapi ;;
	bpf) echo overtake ;;
	all) echo all ;;
	esac
}

# command_of SUITE: the command that runs it in the VM
command_of()
{
	case $1 in
	kmod) echo tests/kmod/run-all ;;
	libruntime) echo tests/libruntime/run-kernel ;;
	kmod-fuzz) echo tests/kmod-fuzz/run ;;
	bpf) echo tests/bpf/run ;;
	all) echo tests/vm/suites ;;
	esac
}

# build_programs ROOT LOG: builds the programs of all suites
build_programs()
{
	local suite targets=
	for suite in $suites; do
		targets="$targets $(targets_of "$suite")"
	done
	run_logged "$2" "$1" "cmake --preset release && cmake --build --preset release -j $(nproc) --target $targets" ||
		return 1
	case " $suites " in
	*" bpf "* | *" all "*) run_logged "$2" "$1" scripts/prepare-networks.sh ;;
	esac
}

# add_row KERNEL VERSION MODULE PASSED FAILED SKIPPED LOG
add_row()
{
	printf '%-19s %-23s %-9s %6s %6s %7s  %s\n' "$@" | tee -a "$directory/table"
}

# count PATTERN LOG...
count()
{
	cat "${@:2}" | grep -cE "$1"
}

# run_suites KERNEL VERSION ROOT: runs each suite in a VM of its own, and adds the row
run_suites()
{
	local kernel=$1 version=$2 root=$3 suite log status logs=() failed=0 named silent=yes passed skipped
	for suite in $suites; do
		log=$directory/$kernel-$suite.log
		logs+=("$log")
		say "$kernel: $(command_of "$suite") on Linux $version"
		run_logged "$log" "$root" "tests/vm/run --kernel $version --timeout 3600 -- $(command_of "$suite")"
		status=$?
		named=$(count '^not ok ' "$log")
		# A suite that fails without naming a test counts as one failure.
		[ $status = 0 ] || [ "$named" != 0 ] || named=1
		failed=$((failed + named))
		[ $status != 125 ] && ! grep -q '^tests/vm/run: the kernel log complains' "$log" || silent=no
		grep -E '^not ok |^tests/vm/run: ' "$log" | sed 's/^/    /'
	done
	skipped=$(count '^ok .*# SKIP' "${logs[@]}")
	passed=$(($(count '^ok ' "${logs[@]}") - skipped))
	add_row "$kernel" "$version" compiled "$passed" "$failed" "$skipped" "$silent"
	[ "$failed" = 0 ] && [ "$passed" -gt 0 ] && [ $silent = yes ]
}

# try_kernel KERNEL: compiles, tests, and adds the row
try_kernel()
{
	local kernel=$1 release=${1%-backports} log=$directory/$1 root version
	root=$directory/$release
	prepare_system "$release" "$root" "$log-packages.log" || {
		tail -n 5 "$log-packages.log" >&2
		add_row "$kernel" "no system" - - - - -
		return 1
	}
	[ "$kernel" != trixie-backports ] || add_newest_kernel "$root" "$log-packages.log" || {
		tail -n 5 "$log-packages.log" >&2
		add_row "$kernel" "not installed" - - - - -
		return 1
	}
	version=$(version_of "$kernel" "$root")
	say "$kernel: module for Linux $version"
	run_logged "$log-module.log" "$root" "OVERTAKE_WERROR=ON scripts/build-module.sh --kernel $version" || {
		tail -n 20 "$log-module.log" >&2
		add_row "$kernel" "$version" failed - - - -
		return 1
	}
	say "$kernel: test programs"
	build_programs "$root" "$log-programs.log" || {
		tail -n 20 "$log-programs.log" >&2
		add_row "$kernel" "$version" compiled "no tests" - - -
		return 1
	}
	run_suites "$kernel" "$version" "$root"
}

started=$SECONDS
failed=0
: > "$directory/table"
add_row "kernel from" release module passed failed skipped "log silent" > /dev/null
for kernel; do
	try_kernel "$kernel" || failed=1
done
say "$suites, $(minutes $((SECONDS - started)))"
cat "$directory/table"
exit $failed
}
