/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two queue pairs of one process that talk to each other, and what they need. A helper that fails
 * ends the test that called it.
 */
#ifndef TESTS_MLX5_PAIR_H
#define TESTS_MLX5_PAIR_H

#include "cmocka_all.h"

#include <endian.h>
#include <stdbool.h>
#include <string.h>
#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>

#define PAIR_BUF  (1u << 20)
#define PAIR_QKEY 0x11111111

struct pair {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *cq[2];
	struct ibv_srq *srq; /* of [1], when the wish says so */
	struct ibv_xrcd *xrcd;
	struct ibv_qp *qp[2];  /* requests go from [0] to [1] */
	struct ibv_qp *tgt[2]; /* XRC: the receiving halves */
	struct ibv_mr *mr;
	uint8_t *buf; /* the lower half is [0]'s by custom, the upper one [1]'s */
	struct ibv_ah *ah;
};

/* Members that are 0 have a default. */
struct pair_wish {
	enum ibv_qp_type type;
	uint64_t ops; /* send_ops_flags; 0: not given */
	uint64_t wc_flags;
	uint32_t cq_flags;
	struct ibv_qp_cap cap;
	int cqe;
	bool sig_all;
	bool srq;
	bool unconnected;
};

/* Which address pairs use; 0 unless a test says otherwise. */
extern int pair_sgid_index;
/* Which adapter; mlx5_0 unless a test says otherwise. */
extern const char *pair_device;
/* One that packets on the wire can have. */
int pair_find_roce_v2(void);

struct ibv_context *pair_open(const char *name);
void pair_make(struct pair *p, const struct pair_wish *wish);
void pair_drop(struct pair *p);
void pair_connect(struct pair *p);
void pair_to_reset(struct ibv_qp *qp);
void pair_to_error(struct ibv_qp *qp);

/* Elements of the region. */
struct ibv_sge pair_sge(const struct pair *p, size_t offset, uint32_t length);
void pair_post_recv(struct pair *p, int side, uint64_t wr_id, size_t offset, uint32_t length);
/* Fills what a request of the pair's type needs beside opcode and elements. */
void pair_fill_wr(const struct pair *p, struct ibv_send_wr *wr, size_t remote_offset);
void pair_post(struct pair *p, struct ibv_send_wr *wr);

/* The next completion, which comes within seconds or the test fails. */
struct ibv_wc pair_wait(struct ibv_cq *cq);
/* The next completion, which is a success of this opcode and request. */
struct ibv_wc pair_expect(struct ibv_cq *cq, enum ibv_wc_opcode opcode, uint64_t wr_id);

void pair_pattern(uint8_t *buf, size_t length, uint8_t seed);
bool pair_is_pattern(const uint8_t *buf, size_t length, uint8_t seed);

#endif
