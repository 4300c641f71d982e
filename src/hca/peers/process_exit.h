/* SPDX-License-Identifier: BSD-2-Clause */
/* Exits of a process that run no destructors. */
#ifndef HCA_PROCESS_EXIT_H
#define HCA_PROCESS_EXIT_H

/*
 * Has `fn` called before quick_exit() of this process, and before _exit() if the facade library,
 * which defines that, is preloaded. `fn` may run in a signal handler.
 */
void process_exit_call(void (*fn)(void));

#endif
