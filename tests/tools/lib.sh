# SPDX-License-Identifier: BSD-2-Clause
# What the scripts beside this one share. Each of their functions called test_* is one ctest; it
# runs in a scratch directory of its own, which is also where its runs put their trees.
# Needs: VERBENA (the command), PROBES (folder of the helper programs), SOURCE (the project).
set -uo pipefail

die() { printf 'FAILED: %s\n' "$*" >&2; exit 1; }
skip() { printf 'SKIPPED: %s\n' "$*"; exit 77; }

# is GOT WANTED WHAT
is() { [[ $1 == "$2" ]] || die "$3: got '$1', wanted '$2'"; }
# has TEXT PART
has() { [[ $1 == *"$2"* ]] || die "'$2' is missing in: $1"; }
# status WANTED COMMAND... ; its output is in $out, its messages in $err
status() {
	local wanted=$1 got
	shift
	"$@" >"$scratch/out" 2>"$scratch/err"
	got=$?
	out=$(<"$scratch/out") err=$(<"$scratch/err")
	[[ $got == "$wanted" ]] || die "$*: exit status $got, wanted $wanted; $err"
}

run() { "$VERBENA" run "$@"; }
trees() { find "$XDG_RUNTIME_DIR" -maxdepth 1 -name 'verbena-run-*' | wc -l; }
no_trees() { is "$(trees)" 0 "trees left behind"; }

# wait_for COMMAND...: until it succeeds, at most 20 s
wait_for() {
	local i
	for ((i = 0; i < 2000; i++)); do
		"$@" && return
		read -rt 0.01 <> <(:)
	done
	die "waited in vain for: $*"
}

# As in a container: no capabilities, even for root.
unprivileged() {
	if [[ $(id -u) == 0 ]]; then
		setpriv --bounding-set=-all,+setfcap --inh-caps=-all "$@"
	else
		"$@"
	fi
}

main() {
	scratch=$(mktemp -d)
	trap 'jobs -p | xargs -r kill 2>/dev/null; rm -rf "$scratch"' EXIT
	export XDG_RUNTIME_DIR=$scratch/runtime XDG_CONFIG_HOME=$scratch/config
	export VERBENA_DIR=$scratch/dir
	unset VERBENA_ADAPTERS VERBENA_CONFIG VERBENA_EXPLAIN VERBENA_FACADE LD_PRELOAD LD_LIBRARY_PATH
	mkdir "$XDG_RUNTIME_DIR" "$XDG_CONFIG_HOME" "$VERBENA_DIR"
	chmod 700 "$XDG_RUNTIME_DIR" "$VERBENA_DIR"
	[[ $(type -t "$1") == function ]] || die "no test $1"
	"$1"
}
