/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Moves pages between private memory and the memfd.
 */
#ifndef FABRIC_SHARE_MOVE_H
#define FABRIC_SHARE_MOVE_H

#include "fabric/share_maps.h"
#include "fabric/share_types.h"

/* Decides how; -EOPNOTSUPP when there is no way in. share_move_end() afterwards. */
int share_move_begin_in(struct share_state *state, enum share_method *method);
enum share_method share_move_begin_out(struct share_state *state);
void share_move_end(struct share_state *state, enum share_method method);

/*
 * Makes [start, end), a part of one private mapping, shared. Whatever happened, *done is how far
 * that is true, and [start, *done) is parked at *park.
 */
int share_move_in(struct share_state *state, enum share_method method, const struct share_vma *vma,
		  uintptr_t start, uintptr_t end, uintptr_t *done, uintptr_t *park);
/*
 * Makes [start, end), mapped from our memfd at `offset` with the protection `prot`, private again
 * and frees that part of the memfd. `park` is where the private mapping waits, or 0.
 */
int share_move_out(struct share_state *state, enum share_method method, uintptr_t start,
		   uintptr_t end, uint64_t offset, int prot, uintptr_t park, uintptr_t *done);

#endif
