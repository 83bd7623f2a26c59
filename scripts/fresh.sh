#!/bin/bash
# SPDX-License-Identifier: MIT
# What a new user meets: the README's two commands on a bare Debian, from nothing to their end, VM inside.
#
#   scripts/fresh.sh [--release RELEASE] [--user root|ordinary] [--quick] [--directory DIRECTORY]
#
# Without options: both releases (bookworm, trixie), once as root and once as an ordinary user with sudo.
# Each time a minimal system (debootstrap: git, make, sudo, ca-certificates and no more) is made in
# DIRECTORY (build/fresh), the last commit is cloned into a home that only its owner may enter, and `make
# demo` and `make test` run there, and in the ordinary user's system `make deb`: lintian looks at the packages,
# which are installed, used and purged. --quick compiles the command only (`make build`'s first half), and
# keeps system, packages and objects for the next time. Mirror and apt settings come from this machine.
#
# Prints minutes, megabytes and totals; whole logs stay in DIRECTORY/*.log. Exit status 0 only when all
# ended well and no test was skipped but those in tests/skips-allowed. Needs root or sudo, and about
# 12 GB for each system, which is removed at the end. Mounts live in a mount namespace of its own: they
# go with the process, whatever ends it.
set -u -o pipefail
{ # read whole before it runs, which takes an hour, in which the checkout may change
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
inner=
while [ $# -gt 0 ]; do
	case $1 in
	--release) releases=${2-} ;;
	--user) users=${2-} ;;
	--directory) directory=${2-} ;;
	--quick) quick=1 users=root ;;
	--inner) inner=1 ;; # in the namespaces already
	*) usage ;;
	esac
	case $1 in --release | --user | --directory) shift ;; esac
	shift
done
[ -n "$releases" ] && [ -n "$users" ] || usage
for release in $releases; do
	case $release in bookworm | trixie) ;; *) usage ;; esac
done
for user in $users; do
	case $user in root | ordinary) ;; *) usage ;; esac
done
mkdir -p "$directory" || exit 1
directory=$(realpath "$directory")

fail()
{
	echo "fresh: $*" >&2
	exit 1
}

say()
{
	echo "fresh: $*"
}

# --- Namespaces: as root, with mounts and processes that end with this script ---------------------

if [ -z "$inner" ]; then
	for tool in debootstrap unshare; do
		command -v $tool > /dev/null || PATH=$PATH:/usr/sbin command -v $tool > /dev/null ||
			fail "$tool is missing: run scripts/setup.sh fresh"
	done
	# The commits, readable by any user of the systems to come.
	git bundle create -q "$directory/overtake.bundle" HEAD || fail "this is not a git checkout with a commit"
	chmod a+r "$directory/overtake.bundle"
	[ -z "$(git status --porcelain --untracked-files=no)" ] ||
		say "uncommitted changes take no part: what runs is $(git log -1 --format='%h %s')"
	become_root=
	[ "$(id -u)" = 0 ] || become_root=sudo
	exec $become_root unshare --mount --propagation private --pid --fork --kill-child \
		"$project/scripts/fresh.sh" --inner --release "$releases" --user "$users" --directory "$directory" ${quick:+--quick}
fi
PATH=$PATH:/usr/sbin:/sbin

# --- The system -----------------------------------------------------------------------------------

# The machine's own Debian sources, one line each: URI, and security for a security archive.
machine_sources()
{
	{
		cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2> /dev/null |
			sed -nE 's/^[[:space:]]*deb[[:space:]]+(\[[^]]*\][[:space:]]+)?([^[:space:]]+)[[:space:]]+([^[:space:]]+)[[:space:]].*/\2 \3/p'
		cat /dev/null /etc/apt/sources.list.d/*.sources 2> /dev/null |
			awk 'BEGIN { RS = ""; FS = "\n" }
				!/(^|\n)Enabled: *([Nn]o|[Ff]alse|0)/ {
					uri = suites = ""
					for (i = 1; i <= NF; i++) {
						if ($i ~ /^URIs:/) { uri = $i; sub(/^URIs: */, "", uri); sub(/ .*/, "", uri) }
						if ($i ~ /^Suites:/) { suites = $i; sub(/^Suites: */, "", suites) }
					}
					split(suites, each, " ")
					if (uri != "") for (i in each) print uri, each[i]
				}'
	} | grep -v '^cdrom:' | grep -E ' (bookworm|trixie)(-security)?$' | only_debians |
		sed -E 's/ (bookworm|trixie)$/ main/; s/ (bookworm|trixie)-security$/ security/' | sort -u
}

# Of the lines on standard input those of Debian's own archives, as apt knows them; all, if apt does not.
only_debians()
{
	local archives
	archives=$(apt-get indextargets --format '$(REPO_URI)' 'Origin: Debian' 'Created-By: Packages' | sed 's|/$||' | sort -u)
	awk -v archives="$archives" 'BEGIN { count = split(archives, all, "\n"); for (i in all) known[all[i]] }
		{ uri = $1; sub(/\/$/, "", uri) } count == 0 || uri in known'
}

# write_sources RELEASE ROOT
write_sources()
{
	local release=$1 root=$2 uri kind
	rm -f "$root/etc/apt/sources.list"
	machine_sources | while read -r uri kind; do
		case $kind in
		main) set -- "$release $release-updates" ;;
		security) set -- "$release-security" ;;
		esac
		printf 'Types: deb\nURIs: %s\nSuites: %s\nComponents: main\nSigned-By: %s\n\n' "$uri" "$1" \
			/usr/share/keyrings/debian-archive-keyring.gpg
	done > "$root/etc/apt/sources.list.d/debian.sources"
	# How this machine reaches them: proxies, certificates, a mirror whose signatures are old.
	apt-config dump | grep -E '^Acquire::(http|https|Check|Retries)' > "$root/etc/apt/apt.conf.d/90machine"
	cp -a /etc/apt/auth.conf.d/. "$root/etc/apt/auth.conf.d/"
	cp /etc/resolv.conf "$root/etc/resolv.conf"
}

make_system()
{
	local release=$1 root=$2 mirror
	mirror=$(machine_sources | sed -n 's/ main$//p' | head -n 1)
	[ -n "$mirror" ] || fail "found no apt source of Debian in /etc/apt"
	mkdir -p "$directory/packages-$release"
	rm -rf --one-file-system "$root"
	debootstrap --variant=minbase --include=git,make,sudo,ca-certificates \
		--cache-dir="$directory/packages-$release" "$release" "$root" "$mirror" \
		> "$root.debootstrap.log" 2>&1 ||
		fail "debootstrap of $release failed: see $root.debootstrap.log"
	write_sources "$release" "$root"
}

mount_system()
{
	local root=$1
	mount -t proc proc "$root/proc" && mount --rbind /sys "$root/sys" && mount --rbind /dev "$root/dev" &&
		mount -t tmpfs tmpfs "$root/run" || fail "cannot mount below $root"
}

unmount_system()
{
	# What a daemon of the system still has open does not hold it up.
	umount -R -l "$1/run" "$1/dev" "$1/sys" "$1/proc"
}

# in_system ROOT USER COMMAND: a login of USER
in_system()
{
	local root=$1 user=$2
	shift 2
	chroot "$root" su - "$user" -c "export LANG=C.UTF-8; $*" < /dev/null
}

# --- What runs there ------------------------------------------------------------------------------

megabytes()
{
	du -sm --one-file-system "$@" 2> /dev/null | awk '{ sum += $1 } END { print sum + 0 }'
}

# minutes SECONDS
minutes()
{
	printf '%d:%02d min' $(($1 / 60)) $(($1 % 60))
}

# run_command ROOT USER LOG COMMAND...: both in LOG and, shortened, here
run_command()
{
	local root=$1 user=$2 log=$3 started=$SECONDS status
	shift 3
	say "$user\$ $*"
	in_system "$root" "$user" "cd overtake && $*" > "$log" 2>&1
	status=$?
	grep -E '^setup: |^fresh: |first table came|[0-9]+ passed, [0-9]+ failed' "$log" | sed 's/^/    /'
	say "$*: exit status $status after $(minutes $((SECONDS - started)))"
	[ $status = 0 ] || { tail -n 25 "$log" | sed 's/^/    /' >&2; return 1; }
}

# skips_not_allowed LOG
skips_not_allowed()
{
	grep -E '^[a-z]+: ok .* # SKIP ' "$1" |
		grep -vE -f <(sed -E '/^(#|$)/d; s/[[:space:]]+#.*//' tests/skips-allowed)
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

# visit RELEASE USER: a new system, the two commands, what they cost
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
	run_command "$root" $user "$log-test.log" make test || status=1

	say "packages: $(($(megabytes "$root/usr" "$root/var/lib" "$root/boot" "$root/etc") - before)) MB" \
		"installed, $(megabytes "$root/var/cache/apt/archives") MB downloaded;" \
		"build: $(megabytes "$root"/{root,home/visitor}/overtake/build) MB"
	[ "$kind" != ordinary ] || try_packages "$root" $user "$log" || status=1
	unexpected=$(skips_not_allowed "$log-test.log")
	if [ -n "$unexpected" ]; then
		say "skipped, though tests/skips-allowed does not name it:"
		echo "$unexpected" | sed 's/^/    /'
		status=1
	fi
	unmount_system "$root"
	[ $status != 0 ] || rm -rf --one-file-system "$root"
	return $status
}

# quick RELEASE: configure and compile the command, incrementally, in a system that is kept
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
