#!/bin/bash
# SPDX-License-Identifier: MIT
# Runs the README's two commands, with their VM, on a bare Debian, as a new user would.
#
#   scripts/fresh.sh [--release RELEASE] [--user root|ordinary] [--busy N] [--quick] [--directory DIRECTORY]
#
# Without options it tries both releases (bookworm, trixie), once as root and once as an ordinary user with
# sudo. Each time it makes a minimal system in DIRECTORY (build/fresh) by debootstrap, with git, make, sudo
# and ca-certificates. It clones the last commit into a home that only its owner may enter, and runs `make
# demo` and `make test` there. The ordinary user also runs `make deb`; lintian checks the packages, which are
# then installed, used and purged. With --quick, it runs only `make build`, as an ordinary user, and keeps
# system, packages and objects for the next time. Mirror and apt settings come from this machine.
#
# With --busy N, N processes keep CPUs busy beside each command, and `make test` and the packages are left
# out: the demo has to work on a busy machine, but the tests need not be quick there.
#
# Prints minutes, megabytes and totals; whole logs stay in DIRECTORY/*.log. The exit status is 0 only if every
# command succeeded and each skipped test is in tests/skips-allowed. Needs root or sudo, and about 12 GB for
# each system, which is removed if all ended well. The script has a mount namespace of its own, so its mounts
# end with it.
set -u -o pipefail
{ # bash reads this block whole before it runs: it takes an hour, and the checkout may change meanwhile
cd "$(dirname "$0")/.."
project=$PWD

usage()
{
	sed -n 's/^#   \(scripts\/fresh.sh.*\)/usage: \1/p' "$project/scripts/fresh.sh" >&2
	exit 2
}

releases="bookworm trixie"
users="root ordinary"
directory=$project/build/fresh
quick=
busy=0
inner=
while [ $# -gt 0 ]; do
	case $1 in
	--release) releases=${2-} ;;
	--user) users=${2-} ;;
	--directory) directory=${2-} ;;
	--quick) quick=1 users=root ;;
	--busy) busy=${2-} ;;
	--inner) inner=1 ;; # the script is in the namespaces already
	*) usage ;;
	esac
	case $1 in --release | --user | --directory | --busy) shift ;; esac
	shift
done
[ -n "$releases" ] && [ -n "$users" ] || usage
case $busy in '' | *[!0-9]* | 0?*) usage ;; esac
for release in $releases; do
	case $release in bookworm | trixie) ;; *) usage ;; esac
done
for user in $users; do
	case $user in root | ordinary) ;; *) usage ;; esac
done
programme=fresh
. scripts/bare-system.sh
mkdir -p "$directory" || exit 1
directory=$(realpath "$directory")

# --- Namespaces: as root, with mounts and processes that end with this script ---------------------

if [ -z "$inner" ]; then
	bundle_commits
	in_namespaces "$project/scripts/fresh.sh" --inner --release "$releases" --user "$users" \
		--directory "$directory" --busy "$busy" ${quick:+--quick}
fi
PATH=$PATH:/usr/sbin:/sbin

# --- What runs there ------------------------------------------------------------------------------

megabytes()
{
	du -sm --one-file-system "$@" 2> /dev/null | awk '{ sum += $1 } END { print sum + 0 }'
}

# keep_busy: starts the number of busy processes that --busy gives; stop_busy ends them
keep_busy()
{
	local i
	busy_pids=
	for ((i = 0; i < busy; i++)); do
		(while :; do :; done) &
		busy_pids+=" $!"
	done
}

stop_busy()
{
	# shellcheck disable=SC2086 # words
	[ -z "$busy_pids" ] || { kill $busy_pids && wait $busy_pids; } 2> /dev/null
}

# run_command ROOT USER LOG COMMAND...: its output goes to LOG, and a few lines of it also here
run_command()
{
	local root=$1 user=$2 log=$3 started=$SECONDS status
	shift 3
	say "$user\$ $*"
	keep_busy
	in_system "$root" "$user" "cd overtake && $*" > "$log" 2>&1
	status=$?
	stop_busy
	grep -E '^setup: |^fresh: |first table came|[0-9]+ passed, [0-9]+ failed' "$log" | sed 's/^/    /'
	say "$*: exit status $status after $(minutes $((SECONDS - started)))"
	[ $status = 0 ] || { tail -n 25 "$log" | sed 's/^/    /' >&2; return 1; }
}

# skips_not_allowed LOG
skips_not_allowed()
{
	grep -E '^[a-z]+: ok .* # SKIP ' "$1" |
		grep -vE -f <(sed -E '/^(#|$)/d; s/\t+#.*//' tests/skips-allowed)
}

# try_packages ROOT USER LOG: built by USER; installed, used and purged by root
try_packages()
{
	local root=$1 user=$2 log=$3 checkout=/home/$2/overtake
	run_command "$root" "$user" "$log-deb.log" make deb || return 1
	in_system "$root" root "apt-get install -y --no-install-recommends lintian &&
		rm -rf /var/packages && mkdir /var/packages &&
		cp $checkout/build/deb/*.deb $checkout/models/glyphs/{glyphs.onnx,calibration.npy,heldout_images.npy} \
			/var/packages" > "$log-lintian.log" 2>&1 || { tail "$log-lintian.log"; return 1; }
	run_command "$root" "$user" "$log-lintian.log" \
		'lintian --fail-on error,warning build/deb/overtake_*.changes' || return 1
	cp tests/packages/use-and-purge "$root/var/use-and-purge"
	say "root# tests/packages/use-and-purge"
	in_system "$root" root "/var/use-and-purge /var/packages" 2>&1 | tee "$log-packages.log" | sed 's/^/    /'
	[ "${PIPESTATUS[0]}" = 0 ]
}

# visit RELEASE USER: runs the two commands in a new system, and prints time and space
visit()
{
	local release=$1 kind=$2 root=$directory/$1-$2 user=root before status=0 unexpected
	local log=$directory/$release-$kind
	say "--- $release, $kind user: a bare system"
	make_system "$release" "$root"
	if [ "$kind" = ordinary ]; then
		user=visitor
		chroot "$root" useradd --create-home --shell /bin/bash $user &&
			echo "$user ALL=(ALL) NOPASSWD: ALL" > "$root/etc/sudoers.d/$user" || return 1
	fi
	mount_system "$root"
	cp "$directory/overtake.bundle" "$root/var/overtake.bundle"
	in_system "$root" $user 'chmod 700 ~ && git -c advice.detachedHead=false -c init.defaultBranch=main clone -q /var/overtake.bundle overtake' || return 1
	before=$(megabytes "$root/usr" "$root/var/lib" "$root/boot" "$root/etc")

	run_command "$root" $user "$log-demo.log" make demo || status=1
	[ "$busy" != 0 ] || run_command "$root" $user "$log-test.log" make test || status=1

	say "packages: $(($(megabytes "$root/usr" "$root/var/lib" "$root/boot" "$root/etc") - before)) MB" \
		"installed, $(megabytes "$root/var/cache/apt/archives") MB downloaded;" \
		"build: $(megabytes "$root"/{root,home/visitor}/overtake/build) MB"
	[ "$kind" != ordinary ] || [ "$busy" != 0 ] || try_packages "$root" $user "$log" || status=1
	unexpected=$([ "$busy" != 0 ] || skips_not_allowed "$log-test.log")
	if [ -n "$unexpected" ]; then
		say "skipped, though tests/skips-allowed does not name it:"
		echo "$unexpected" | sed 's/^/    /'
		status=1
	fi
	unmount_system "$root"
	[ $status != 0 ] || rm -rf --one-file-system "$root"
	return $status
}

# quick RELEASE: runs `make build` in a system that is kept, so that the next time compiles only changes
quick()
{
	local release=$1 root=$directory/$1-quick
	[ -e "$root/etc/debian_version" ] && [ -e "$root/home/visitor" ] || {
		make_system "$release" "$root"
		chroot "$root" useradd --create-home --shell /bin/bash visitor
		echo "visitor ALL=(ALL) NOPASSWD: ALL" > "$root/etc/sudoers.d/visitor"
	}
	mount_system "$root"
	cp "$directory/overtake.bundle" "$root/var/overtake.bundle"
	in_system "$root" visitor '[ -d overtake ] || git clone -q /var/overtake.bundle overtake
		cd overtake && git fetch -q /var/overtake.bundle HEAD && git reset -q --hard FETCH_HEAD' || return 1
	run_command "$root" visitor "$directory/$release-quick.log" make build
	local status=$?
	unmount_system "$root"
	return $status
}

started=$SECONDS
failed=0
for release in $releases; do
	if [ -n "$quick" ]; then
		quick "$release" || failed=1
		continue
	fi
	for user in $users; do
		visit "$release" "$user" || failed=1
	done
done
if [ $failed = 0 ]; then
	say "all ended well, $(minutes $((SECONDS - started)))"
else
	say "not all ended well; systems of failed runs and logs are in $directory"
fi
exit $failed
}
