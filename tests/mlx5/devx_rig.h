/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a program has to do by hand to talk through DEVX: commands in mailboxes, rings in its own
 * memory, doorbells in its own page. A helper that fails ends the test that called it.
 */
#ifndef TESTS_MLX5_DEVX_RIG_H
#define TESTS_MLX5_DEVX_RIG_H

#include "mlx5/ifc.h"
#include "mlx5/ifc_cmd.h"
#include "mlx5/ifc_val.h"
#include "pair.h"

#define RIG_MEMORY (1u << 16)

struct rig {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	uint32_t pdn;
	struct mlx5dv_devx_uar *uar;
	struct ibv_mr *mr;
	uint8_t *memory; /* RIG_MEMORY bytes */
	uint32_t eqn;
};

void rig_open(struct rig *r);
void rig_open_device(struct rig *r, const char *name);
/* On a context that is open, which the rig closes. */
void rig_open_context(struct rig *r, struct ibv_context *ctx);
void rig_close(struct rig *r);

/* Memory for a ring, page aligned and zeroed, as a umem. */
struct rig_umem {
	uint8_t *addr;
	size_t size;
	struct mlx5dv_devx_umem *umem;
};

struct rig_umem rig_umem(struct rig *r, size_t size);
void rig_umem_drop(struct rig_umem *u);

struct rig_cq {
	struct rig *rig;
	struct rig_umem umem; /* entries, then the record */
	struct mlx5dv_devx_obj *obj;
	volatile __be32 *db;
	uint32_t cqn, size, ci, arm_sn;
};

void rig_cq(struct rig *r, uint32_t log_size, uint32_t eqn, struct rig_cq *cq);
void rig_cq_drop(struct rig_cq *cq);
/* The next entry, which comes within a minute or the test fails. */
const struct mlx5_cqe64 *rig_cq_wait(struct rig_cq *cq);
bool rig_cq_ready(const struct rig_cq *cq);
void rig_cq_take(struct rig_cq *cq);
/* Writes the arm word, and rings. */
void rig_cq_arm(struct rig_cq *cq);

struct rig_qp {
	struct rig *rig;
	struct rig_umem umem; /* receive ring, send ring, record */
	struct mlx5dv_devx_obj *obj;
	volatile __be32 *db;
	uint8_t *rq, *sq;
	uint32_t qpn, sq_size, rq_size;
	uint32_t post, head;
	bool no_record; /* its own doorbells are words in the page's register */
};

/* Log of blocks and of receives; srqn 0: a receive ring of its own. */
void rig_qp(struct rig *r, uint32_t log_sq, uint32_t log_rq, uint32_t srqn, struct rig_cq *cq,
	    struct rig_qp *qp);
/* A QP with a receive ring of its own, and without a doorbell record of the send queue. */
void rig_qp_without_record(struct rig *r, uint32_t log_sq, uint32_t log_rq, struct rig_cq *cq,
			   struct rig_qp *qp);
void rig_qp_drop(struct rig_qp *qp);
void rig_connect(struct rig_qp *a, struct rig_qp *b);
/* One state change with everything that the way up needs; the errno value, as the call has it. */
int rig_modify(struct rig_qp *qp, uint16_t op, uint32_t remote, uint8_t *out);
uint8_t rig_qp_state(struct rig_qp *qp);

/* An entry with one element; remote_off counts for RDMA only. */
void rig_send(struct rig_qp *qp, uint8_t opcode, uint32_t off, uint32_t len, uint32_t remote_off);
void rig_recv(struct rig_qp *qp, uint32_t off, uint32_t len);
void rig_ring(struct rig_qp *qp);

/* A mailbox of zeros that starts with an opcode. */
#define RIG_IN(name, len, op)                                                                      \
	uint8_t name[len] = { 0 };                                                                 \
	ifc_set(name, cmd_in, opcode, IFC_OP_##op)

void rig_wait_readable(int fd);
bool rig_is_readable(int fd);

#endif
