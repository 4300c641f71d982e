/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Compressed completions: of frames that differ in little, the first is written as a CQE, the title, and
 * each as eight bytes of an array (a mini CQE). They take as many entries of the ring as they would
 * otherwise: the title the first one, arrays of eight the second, the ninth, the 17th and so on. The entries
 * between are not written, and those of arrays have no owner: a consumer knows from the title how many
 * there are.
 */
#ifndef MLX5_CQE_COMP_H
#define MLX5_CQE_COMP_H

#include "hca/device/format.h"

/* Completions that one title stands for, at most. */
#define MLX5_COMP_MOST 64u

struct drv_cq;

/*
 * Writes the first completions of a list compressed, from index pi on, and returns their number; 0: the
 * first two have too little in common. Lock of the adapter's CQ held.
 */
unsigned int mlx5_cqe_compress(struct hca_cq *cq, uint32_t pi, const struct hca_cqe *cqe,
			       unsigned int count);
/* Writes the CQEs that the title at `index` stands for into their entries. Consumer's lock held. */
void mlx5_cqe_expand(const struct drv_cq *cq, uint32_t index);

#endif
