#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The recipes for CI and containers, run as a shell: Containerfile, action.yml, and the GitLab job of docs/ci.md. It changes
# the machine it runs on, and so is for fresh-root.sh alone. Builds of this folder are used again, so that it is short.
set -euo pipefail
source=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

die() { printf 'FAILED: %s\n' "$*" >&2; exit 1; }
# words JSON: of an array of strings, one per line.
words() { sed 's/^\["//; s/"\]$//; s/", *"/\n/g' <<<"$1"; }

# Stages share one root here; a folder that is copied to the place where it lies is there already.
containerfile() {
	local place=/ entry=() command=() what rest from to
	while read -r what rest; do
		case $what in
		'' | '#'*) ;;
		FROM) place=/ ;;
		WORKDIR) place=$rest ;;
		COPY)
			[[ $rest != --from=* ]] || rest=${rest#* }
			read -r from to <<<"$rest"
			# shellcheck disable=SC2086
			if [[ $from == . ]]; then [[ $to == "$source" ]] || die "COPY to $to"; else cp $from "$to"; fi
			;;
		RUN) (cd "$place" && bash -ec "$rest") >"$scratch/log" 2>&1 || { cat "$scratch/log"; die "RUN $rest"; } ;;
		ENTRYPOINT) mapfile -t entry < <(words "$rest") ;;
		CMD) mapfile -t command < <(words "$rest") ;;
		*) die "Containerfile: $what is not known here" ;;
		esac
	done < <(sed -e ':a' -e '/\\$/ { N; s/\\\n//; ba' -e '}' "$source/Containerfile")
	[[ $("${entry[@]}" "${command[@]}") == *mlx5_0* ]] || die "the container's command shows no mlx5_0"
	[[ $(cd / && "${entry[@]}" ibv_devinfo -d mlx4_0) == *InfiniBand* ]] || die "ibv_devinfo in the container"
	dpkg -P verbena-dev verbena >/dev/null
	echo "the steps of Containerfile work"
	apt-get update -qq
	apt-get install -y -qq --no-install-recommends lintian >/dev/null
	lintian --allow-root --fail-on error,warning "$source"/build-release/*.deb || die lintian
	echo "lintian finds nothing"
}

# steps FILE: each command of `run:` as a file step.N in the scratch folder.
steps() {
	rm -f "$scratch"/step.*
	awk -v to="$scratch/step." '
		function indent(s) { match(s, /[^ ]/); return RSTART }
		block && /[^ ]/ && indent($0) <= block { block = 0 }
		block { print >file; next }
		/^ *(- )?run: / {
			file = to sprintf("%02d", ++n); s = $0; sub(/^ *(- )?run: /, "", s)
			if (s == "|") { block = indent($0); next }
			if (s ~ /^\047.*\047$/) { s = substr(s, 2, length(s) - 2); gsub(/\047\047/, "\047", s) }
			print s >file
		}' "$1"
}

# By a user who is not root, with sudo, as on GitHub's machines.
action() {
	local step export as=(sudo -u ci -H env "GITHUB_ACTION_PATH=$source" "RUNNER_TEMP=$scratch/temp"
		"GITHUB_PATH=$scratch/path")
	steps "$source/action.yml"
	chmod 755 "$scratch"
	install -d -o ci "$scratch/temp"
	install -o ci /dev/null "$scratch/path"
	for step in "$scratch"/step.*; do
		export=$(paste -sd : "$scratch/path")
		"${as[@]}" "PATH=${export:+$export:}$PATH" bash --noprofile --norc -eo pipefail "$step" >"$scratch/log" 2>&1 ||
			{ cat "$scratch/log"; die "action.yml, $(<"$step")"; }
	done
	grep -q mlx5_0 "$scratch/log" || die "the last step of action.yml shows no mlx5_0"
	echo "the steps of action.yml work, for a user who is not root"
}

gitlab() {
	local script
	# Commands of the YAML block that has an image, without those of GitHub.
	script=$(sed -n '/^rdma:/,/^```/ s/^    - //p' "$source/docs/ci.md")
	grep -q 'do install' <<<"$script" || die "docs/ci.md has no job"
	# The clone is this folder, where the release is built already.
	script=$(sed 's|^git clone .*"$VERBENA_URL" /tmp/verbena$|git ls-remote -q "$VERBENA_URL" >/dev/null|' <<<"$script")
	grep -q 'ls-remote' <<<"$script" || die "docs/ci.md does not clone"
	script=${script//\/tmp\/verbena/$source}
	VERBENA_URL=file://$source bash -eo pipefail -c "$script" >"$scratch/log" 2>&1 || { cat "$scratch/log"; die "docs/ci.md"; }
	tail -n 4 "$scratch/log" | grep -q mlx5_0 || { cat "$scratch/log"; die "the job of docs/ci.md shows no mlx5_0"; }
	"$source/do" uninstall --prefix /opt/verbena >/dev/null
	echo "the GitLab job of docs/ci.md works"
}

# A user `ci` who owns the clone. A package that is missing is installed by sudo, and without sudo named.
not_root() {
	useradd -m ci
	apt-get install -y -qq --no-install-recommends sudo >/dev/null
	echo 'ci ALL=(ALL) NOPASSWD: ALL' >/etc/sudoers.d/ci
	chown -R ci "$source"
	dpkg --purge libxxhash-dev >/dev/null
	mv /usr/bin/sudo /usr/bin/sudo.away
	if su ci -c './do build --release' >"$scratch/log" 2>&1; then die "no sudo, and libxxhash-dev is missing"; fi
	mv /usr/bin/sudo.away /usr/bin/sudo
	grep -q 'not root and no sudo; please install: libxxhash-dev' "$scratch/log" || { cat "$scratch/log"; die "without sudo"; }
	action
	dpkg -s libxxhash-dev >/dev/null || die "libxxhash-dev was not installed by sudo"
	[[ $(su ci -c 'NO_COLOR=1 ./do demo 2>&1') == *'queue 3: 2'* ]] || die "./do demo as a user"
	chown -R root "$source"
	echo "./do build, install and demo work for a user who is not root"
}

cd "$source"
containerfile
gitlab
not_root
