#!/bin/sh
# SPDX-License-Identifier: MIT
# Check that the C of kmod, uapi and firmware-sim follows the kernel's rules. Prints TAP:
#
#   checkpatch FILE   checkpatch.pl --strict of Linux 6.12 has no complaint
#   kernel-doc FILE   kernel-doc comments in uapi/ are complete
#   header FILE       a uapi header compiles alone, as C11 and as C++20
#   kbuild            the module compiles with W=1 and -Werror, and no stack frame exceeds 1 KiB: a kernel's
#                     compiler may keep in memory what a process has in registers
#   call-circles      the module's sources do not call each other in circles
#   modinfo           the module names the choices or the range of each parameter
#   tracepoint-NAME-is-a-nop
#                     a tracepoint costs a nop while it is off
#   sparse            neither gcc nor sparse prints a warning, except in SIMD code: sparse knows no vector types
set -u
cd "$(dirname "$0")/.."
PATH=$PATH:/usr/sbin:/sbin # modinfo, also for users other than root
tools=build/kernel-style
failed=0

# verdict NAME COMMAND...: passes if the command succeeds and prints nothing
verdict()
{
	name=$1
	shift
	output=$("$@" 2>&1)
	if [ $? = 0 ] && [ -z "$output" ]; then
		echo "ok $name"
	else
		failed=1
		echo "not ok $name"
		printf '%s\n' "$output" | sed 's/^/# /'
	fi
}

# checkpatch and kernel-doc come only with the kernel's source.
unpack_tools()
{
	[ ! -e $tools/scripts/kernel-doc ] || return 0
	mkdir -p $tools
	tar -xJf /usr/src/linux-source-6.12.tar.xz -C $tools --strip-components=1 --wildcards \
		'*/scripts/checkpatch.pl' '*/scripts/spelling.txt' '*/scripts/const_structs.checkpatch' \
		'*/scripts/kernel-doc'
}

# sources GLOB...: prints the files that git tracks or would add
sources()
{
	git ls-files --cached --others --exclude-standard -- "$@" | sort -u | while read -r file; do
		[ ! -e "$file" ] || echo "$file"
	done
}

# uapi and firmware-sim include no kernel header, so they cannot use BIT(), ARRAY_SIZE() and the
# kernel's macros for attributes; checkpatch exempts the kernel's own include/uapi the same way. SIMD
# code defines vector types.
checkpatch()
{
	case $1 in
	kmod/*) ignored= ;;
	firmware-sim/hw/simd/*)
		ignored=--ignore=BIT_MACRO,ARRAY_SIZE,NEW_TYPEDEFS,PREFER_DEFINED_ATTRIBUTE_MACRO
		;;
	# A row of settings.inc becomes a member, which ends with a semicolon.
	firmware-sim/sched/settings.h)
		ignored=--ignore=BIT_MACRO,ARRAY_SIZE,MULTISTATEMENT_MACRO_USE_DO_WHILE,TRAILING_SEMICOLON,MACRO_ARG_UNUSED
		;;
	*) ignored=--ignore=BIT_MACRO,ARRAY_SIZE ;;
	esac
	# shellcheck disable=SC2086
	$tools/scripts/checkpatch.pl --no-tree --strict --quiet --terse --show-types --no-summary \
		--max-line-length=100 $ignored --file "$1"
}

uapi_header()
{
	gcc -std=c11 -Wall -Wextra -Werror -fsyntax-only -I uapi -x c "$1" &&
		g++ -std=c++20 -Wall -Wextra -Werror -fsyntax-only -I uapi -x c++ "$1"
}

kbuild()
{
	OVERTAKE_WERROR=OFF scripts/build-module.sh --output build/kmod-check W=1 C=2 \
		KCFLAGS='-Werror -Wframe-larger-than=1024' > build/kmod-check.log 2>&1 || {
		cat build/kmod-check.log
		return 1
	}
}

# Prints the parameters without choices or a range.
modinfo_ranges()
{
	modinfo -F parm build/kmod-check/overtake.ko |
		grep -vE '[0-9]\.\.[0-9]+[ ;,]| or ' || true
}

# sparse never fails a build, so its output decides. It does not know the compiler's vectors.
sparse_words()
{
	grep -E '(warning|error):' build/kmod-check.log | grep -v 'firmware-sim/hw/simd/' || true
}

if [ "${1-}" = --checkpatch ]; then # xargs below starts this script for some of the files
	shift
	for file; do
		verdict "checkpatch $file" checkpatch "$file"
	done
	exit $failed
fi
unpack_tools || exit 1
sources 'kmod/*.[ch]' 'uapi/*.h' 'firmware-sim/*.[ch]' |
	xargs -P "$(nproc)" -n 8 scripts/check-kernel-style.sh --checkpatch || failed=1
for file in $(sources 'uapi/*.h'); do
	verdict "kernel-doc $file" perl $tools/scripts/kernel-doc -none -Werror "$file"
	verdict "header $file" uapi_header "$file"
done
if [ -e kmod/Kbuild ]; then
	verdict kbuild kbuild
	verdict call-circles scripts/call-circles --quiet build/kmod-check/kmod
	verdict modinfo modinfo_ranges
	tests/kmod/check-tracepoints-off build/kmod-check/overtake.ko || failed=1
	verdict sparse sparse_words
else
	echo "SKIPPED: there is no kmod/Kbuild: neither W=1 nor sparse looked at the module" >&2
fi
exit $failed
