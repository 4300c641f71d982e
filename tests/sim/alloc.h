/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Allocations that fail: the linker sends malloc(), calloc() and realloc() of the whole program
 * here (--wrap). Those of the adapter fail now and then while it handles packets, timers and
 * doorbells; calls that make objects, which report the failure, are tested elsewhere.
 */
#ifndef TESTS_SIM_ALLOC_H
#define TESTS_SIM_ALLOC_H

#include <stdbool.h>
#include <stdint.h>

/* One in `every` fails, by the seed; 0: none. */
void alloc_begin(uint64_t seed, uint32_t every);
/*
 * From here on, in this thread, until alloc_leave(). Nests, with what alloc_pause() switches off.
 */
void alloc_enter(void);
void alloc_leave(void);
/* The simulator's own memory, inside. Returns what alloc_resume() takes. */
int alloc_pause(void);
void alloc_resume(int paused);
uint64_t alloc_failed(void);

#endif
