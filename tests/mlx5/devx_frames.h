/* SPDX-License-Identifier: BSD-2-Clause */
/* Receive queues of device commands, counters, and frames to be received and counted. */
#ifndef TESTS_MLX5_DEVX_FRAMES_H
#define TESTS_MLX5_DEVX_FRAMES_H

#include "devx_rig.h"

enum { FRAMES_LOG = 6, FRAMES_SIZE = 256, FRAMES_UDP_DPORT = 30 /* in the outer headers' match */ };

struct frames_rq {
	struct rig_umem umem; /* entries, then the record */
	struct mlx5dv_devx_obj *obj;
	uint32_t number;
	struct rig_cq cq;
};

struct mlx5dv_devx_obj *frames_create(struct rig *r, const void *in, size_t len, uint32_t *number);
void frames_rq(struct rig *r, struct frames_rq *q, uint32_t off);
void frames_rq_drop(struct frames_rq *q);
/* Packets that a counter has seen. */
uint64_t frames_counted(struct mlx5dv_devx_obj *counter, uint32_t number);
/* So many frames to a UDP port, from source ports 0, 1, ... */
void frames_send(struct rig *r, unsigned int count, uint16_t port);

#endif
