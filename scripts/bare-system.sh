# SPDX-License-Identifier: MIT
# Functions for the scripts that try the project on minimal Debian systems (debootstrap), with the mirror
# and the apt settings of this machine. $directory keeps systems and packages; $programme begins each message.

fail()
{
	echo "$programme: $*" >&2
	exit 1
}

say()
{
	echo "$programme: $*"
}

# minutes SECONDS
minutes()
{
	printf '%d:%02d min' $(($1 / 60)) $(($1 % 60))
}

# Writes the last commit and those before it to $directory/overtake.bundle, which every user may read.
bundle_commits()
{
	git bundle create -q "$directory/overtake.bundle" HEAD || fail "this is not a git checkout with a commit"
	chmod a+r "$directory/overtake.bundle"
	[ -z "$(git status --porcelain --untracked-files=no)" ] ||
		say "uncommitted changes are ignored: this runs $(git log -1 --format='%h %s')"
}

# in_namespaces COMMAND...: replaces this script by COMMAND, as root; its mounts and processes end with it
in_namespaces()
{
	local tool become_root=
	for tool in debootstrap unshare; do
		command -v $tool > /dev/null || PATH=$PATH:/usr/sbin command -v $tool > /dev/null ||
			fail "$tool is missing: run scripts/setup.sh fresh"
	done
	[ "$(id -u)" = 0 ] || become_root=sudo
	exec $become_root unshare --mount --propagation private --pid --fork --kill-child "$@"
}

# Prints the machine's own Debian sources, one line each: URI, and main or security.
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

# Prints the lines of standard input whose URI apt knows as an archive of Debian; all lines if apt knows none.
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
	# Settings with which this machine reaches the archives: proxies, certificates, a mirror with old signatures.
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
	# -l: files that a daemon of the system still has open do not delay this.
	umount -R -l "$1/run" "$1/dev" "$1/sys" "$1/proc"
}

# in_system ROOT USER COMMAND: a login of USER
in_system()
{
	local root=$1 user=$2
	shift 2
	chroot "$root" su - "$user" -c "export LANG=C.UTF-8; $*" < /dev/null
}
