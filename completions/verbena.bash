# SPDX-License-Identifier: BSD-2-Clause
# Completion of verbena(1) for bash: the words, their options, adapters' keys, and, after `run`,
# the program and whatever that one completes. Bash cuts words at "=" before it calls, so the line
# is cut at blanks again: `words` and `cword` are what the functions below look at.

_verbena_keys="model= link= interface= ports= gids= guid="
_verbena_models="ConnectX-3 ConnectX-3-Pro ConnectX-4 ConnectX-4-Lx ConnectX-5 ConnectX-5-Ex ConnectX-6 ConnectX-6-Dx ConnectX-6-Lx
ConnectX-7 ConnectX-8 BlueField-2 BlueField-3"

# _verbena_offer CHOICES...
_verbena_offer() {
	mapfile -t COMPREPLY < <(compgen -W "$*" -- "${words[cword]}")
}

# NAME,key=value,...: the part after the last comma is the one being written.
_verbena_adapter() {
	local word=${words[cword]} head='' last choices
	last=$word
	if [[ $word == *,* ]]; then
		head=${word%,*},
		last=${word##*,}
	fi
	case $head$last in
	# shellcheck disable=SC2086
	*,model=*) choices=$(printf 'model=%s ' $_verbena_models) ;;
	*,link=*) choices="link=ethernet link=infiniband" ;;
	*,interface=*) choices=$(cd /sys/class/net 2>/dev/null && printf 'interface=%s ' *) ;;
	*,*) choices=$_verbena_keys ;;
	*) choices="mlx5_0 mlx4_0" ;;
	esac
	mapfile -t COMPREPLY < <(compgen -P "$head" -W "$choices" -- "$last")
	compopt -o nospace 2>/dev/null || true
}

# True when the word before is an option with a value; completes that value.
_verbena_value() {
	case ${words[cword - 1]} in
	-a | --adapter) _verbena_adapter ;;
	-c | --config | --capture | --fault | --trace | -o | --output) mapfile -t COMPREPLY < <(compgen -f -- "${words[cword]}") ;;
	-f | --facade) _verbena_offer preload namespace none ;;
	--path) _verbena_offer auto wire ;;
	--dump-on) _verbena_offer USR1 USR2 QUIT ;;
	--seed | --limit | --dump-after | --pid) COMPREPLY=() ;;
	*) return 1 ;;
	esac
}

_verbena_top() {
	case ${words[cword - 1]} in
	-s | --sort) _verbena_offer pid program qpn type state tx txb rx rxb latency sq rq cq retry rnr err adapter peer health ;;
	-i | --interval | -f | --filter) COMPREPLY=() ;;
	*) _verbena_offer --once --json --interval --sort --reverse --filter --help ;;
	esac
}

# `wire capture FILE`, `wire fault RULES`, and `off` for either.
_verbena_wire() {
	if ((cword == 2)); then
		_verbena_offer capture fault --help
	else
		mapfile -t COMPREPLY < <(compgen -f -W off -- "${words[cword]}")
	fi
}

# Which word of `run` is the program; nothing while there is none.
_verbena_program() {
	local i
	for ((i = 2; i <= cword; i++)); do
		case ${words[i]} in
		--) echo $((i + 1)) && return ;;
		-a | --adapter | -c | --config | -f | --facade | --path | --capture | --fault | --seed | --json | --junit | --suppressions | --fail-on | --trace | -o | --output | --limit | --dump-on | --dump-after) ((i++)) ;;
		-* | '') ;;
		*) echo $i && return ;;
		esac
	done
}

# The program completes its own arguments. bash-completion counts in bash's own words.
_verbena_arguments() {
	local i
	if declare -F _command_offset >/dev/null; then
		for ((i = 2; i < COMP_CWORD; i++)); do
			[[ ${COMP_WORDS[i]} == "$1" ]] && _command_offset $i && return
		done
	fi
	mapfile -t COMPREPLY < <(compgen -f -- "${words[cword]}")
}

_verbena_run() {
	local program
	program=$(_verbena_program)
	if [[ -n $program ]] && ((cword > program)); then
		_verbena_arguments "${words[program]}"
	elif [[ -n $program ]] && ((cword == program)); then
		mapfile -t COMPREPLY < <(compgen -c -- "${words[cword]}")
	else
		_verbena_value || _verbena_offer --adapter --config --explain --facade --path --capture --fault --seed --stat --check --json --junit --suppressions --fail-on --adversary --trace --output --limit --dump-on --dump-after --help --
	fi
}

_verbena_dispatch() {
	if ((cword == 1)); then
		_verbena_offer run check trace why devices top wire unplug plug doctor version help
		return
	fi
	case ${words[1]} in
	run | check | trace) _verbena_run ;;
	why) _verbena_value || _verbena_offer --last --pid --help ;;
	devices) _verbena_value || _verbena_offer --verbose --json --adapter --config --help ;;
	top) _verbena_top ;;
	wire) _verbena_wire ;;
	unplug | plug) _verbena_offer mlx5_0 mlx4_0 --help ;;
	doctor) _verbena_offer --json --help ;;
	help) _verbena_offer run check trace why devices top wire unplug plug doctor version ;;
	version) _verbena_offer --help ;;
	esac
}

_verbena() {
	local line=${COMP_LINE:0:COMP_POINT} words cword word cut i
	read -ra words <<<"$line"
	[[ $line == *[[:blank:]] ]] && words+=('')
	cword=$((${#words[@]} - 1))
	_verbena_dispatch
	# Bash replaces only what follows the last "=".
	word=${words[cword]}
	if [[ $word == *=* && $COMP_WORDBREAKS == *=* ]]; then
		cut=${word%"${word##*=}"}
		for i in "${!COMPREPLY[@]}"; do
			COMPREPLY[i]=${COMPREPLY[i]#"$cut"}
		done
	fi
}

complete -F _verbena verbena
