/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Places in the program: stacks of return addresses. A place is never freed, and there is one for each
 * caller's address on the data path, so that a post costs a look-up and no unwinding: its stack is the one
 * of the first call from there.
 */
#ifndef CHECK_PLACE_H
#define CHECK_PLACE_H

#include <stdint.h>

#define CHECK_DEPTH 24

struct check_place {
	uint64_t key; /* the caller's address, or a hash of the stack */
	int count;
	void *frames[CHECK_DEPTH];
};

/*
 * For operations of the data path: a macro, since the place is that of the caller of the function that has it.
 * A program that is built without optimization calls ibv_post_send() and the like as functions of its own, which
 * have frame pointers: there, the caller's caller counts as well.
 */
#define check_place_of_caller()                                                                    \
	check_place_of(__builtin_return_address(0), __builtin_frame_address(0))
const struct check_place *check_place_of(const void *caller, const void *frame);
/* For all other calls: the present stack. */
const struct check_place *check_place_here(void);

#endif
