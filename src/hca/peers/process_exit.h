/* SPDX-License-Identifier: BSD-2-Clause */
/* Ends of a process that run no destructor. */
#ifndef HCA_LEAVE_H
#define HCA_LEAVE_H

/* Has `fn` called before quick_exit() or _exit() of this process; the latter where the facade is. */
void process_exit_call(void (*fn)(void));

#endif
