# SPDX-License-Identifier: BSD-2-Clause
# Completion of verbena(1) for fish.
set -l words run check devices wire unplug plug doctor version help

complete -c verbena -f
complete -c verbena -n "not __fish_seen_subcommand_from $words" -a run -d 'run a program on Verbena'
complete -c verbena -n "not __fish_seen_subcommand_from $words" -a check -d 'tell what is wrong with a program'
complete -c verbena -n "not __fish_seen_subcommand_from $words" -a devices -d 'show the adapters'
complete -c verbena -n "not __fish_seen_subcommand_from $words" -a wire -d 'capture or spoil packets'
complete -c verbena -n "not __fish_seen_subcommand_from $words" -a unplug -d 'take an adapter away'
complete -c verbena -n "not __fish_seen_subcommand_from $words" -a plug -d 'plug it in again'
complete -c verbena -n "not __fish_seen_subcommand_from $words" -a doctor -d 'check the machine'
complete -c verbena -n "not __fish_seen_subcommand_from $words" -a version -d 'show the version'
complete -c verbena -n "not __fish_seen_subcommand_from $words" -a help -d 'show help'

complete -c verbena -n "__fish_seen_subcommand_from $words" -s h -l help -d 'show help'
complete -c verbena -n "__fish_seen_subcommand_from run check devices" -s a -l adapter -x -a 'mlx5_0 mlx4_0' -d 'an adapter'
complete -c verbena -n "__fish_seen_subcommand_from run check devices" -s c -l config -r -F -d 'adapters from a file'
complete -c verbena -n "__fish_seen_subcommand_from run check" -s e -l explain -d 'say why calls are refused'
complete -c verbena -n "__fish_seen_subcommand_from run check" -s f -l facade -x -a 'preload namespace none' -d 'how /sys is shown'
complete -c verbena -n "__fish_seen_subcommand_from run check" -l path -x -a 'auto wire' -d 'shared memory, or packets'
complete -c verbena -n "__fish_seen_subcommand_from run check" -l capture -r -F -d 'write packets to a file'
complete -c verbena -n "__fish_seen_subcommand_from run check" -l fault -r -F -d 'lose or spoil packets'
complete -c verbena -n "__fish_seen_subcommand_from run check" -l seed -x -d 'another run of the dice'
complete -c verbena -n "__fish_seen_subcommand_from run check" -l stat -d 'counters of the wire'
complete -c verbena -n "__fish_seen_subcommand_from run" -l check -d 'tell what is wrong'
complete -c verbena -n "__fish_seen_subcommand_from run check" -l json -r -F -d 'findings as JSON'
complete -c verbena -n "__fish_seen_subcommand_from run check" -l junit -r -F -d 'findings as JUnit XML'
complete -c verbena -n "__fish_seen_subcommand_from run check" -l suppressions -r -F -d 'findings that are not told'
complete -c verbena -n "__fish_seen_subcommand_from run check" -l fail-on -x -d 'findings that fail'
complete -c verbena -n "__fish_seen_subcommand_from run check" -l adversary -d 'late completions, lost packets'
complete -c verbena -n "__fish_seen_subcommand_from run check" -x -a '(__fish_complete_subcommand)'
complete -c verbena -n "__fish_seen_subcommand_from devices doctor" -l json -d 'as JSON'
complete -c verbena -n "__fish_seen_subcommand_from devices" -s v -l verbose -d 'everything'
complete -c verbena -n "__fish_seen_subcommand_from wire" -F -a 'capture fault off'
complete -c verbena -n "__fish_seen_subcommand_from unplug plug" -a 'mlx5_0 mlx4_0'
complete -c verbena -n "__fish_seen_subcommand_from help" -a "$words"
