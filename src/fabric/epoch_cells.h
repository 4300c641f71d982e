/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which cells of an epoch area belong to threads of this process. Private memory: peers read the
 * cells, not this. The lowest free cell is taken first, so that a grace period looks at as many
 * cells as the process has had threads at once, and not at all of them.
 */
#ifndef FABRIC_EPOCH_CELLS_H
#define FABRIC_EPOCH_CELLS_H

#include <stdint.h>

#include "fabric/state.h"

/* A cell for the calling thread; NULL: all are taken. */
struct epoch_cell *epoch_cells_take(struct epoch_cells *cells, struct epoch_area *area);
/* Lowers area->high to the cells that are left. */
void epoch_cells_put(struct epoch_cells *cells, struct epoch_area *area,
		     const struct epoch_cell *cell);
/* No cell is taken. No other thread uses the cells. */
void epoch_cells_reset(struct epoch_cells *cells);

#endif
