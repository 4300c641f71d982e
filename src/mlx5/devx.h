/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * DEVX: device commands in mailboxes, and the objects that they make. A command is looked up in one
 * table (devx_table.c), its mailboxes are copied and checked for length (devx.c), and one function
 * per command decodes the input, calls the adapter, and fills the answer. Those functions stand in
 * devx_<noun>.c.
 *
 * A function that carries out a command returns 0, or a refusal made by devx_refuse(), which
 * becomes EREMOTEIO with a status in the output mailbox; any other -errno goes to the caller as it
 * is.
 *
 * One lock per context, devx.lock, is held while a command runs: commands are as serial as the
 * device's own. It is the outermost of the driver's locks. Events come at any time and take
 * event_lock only, under which nothing else is taken but an event queue's lock.
 */
#ifndef MLX5_DEVX_H
#define MLX5_DEVX_H

#include <errno.h>

#include "hca/queue/eq.h"
#include "hca/raw/flow.h"
#include "hca/raw/rss.h"
#include "hca/device/table.h"
#include "hca/queue/uar.h"
#include "mlx5/format.h"
#include "mlx5/ifc.h"
#include "mlx5/ifc_cmd.h"
#include "mlx5/ifc_val.h"
#include "mlx5/objects.h"
#include "util/explain.h"

enum devx_kind {
	DEVX_NONE, /* commands without an object */
	DEVX_UMEM,
	DEVX_PD,
	DEVX_TD,
	DEVX_XRCD,
	DEVX_MKEY,
	DEVX_PSV,
	DEVX_CQ,
	DEVX_EQ,
	DEVX_QP,
	DEVX_SRQ,
	DEVX_XRC_SRQ,
	DEVX_RMP,
	DEVX_DCT,
	DEVX_RQ,
	DEVX_SQ,
	DEVX_RQT,
	DEVX_TIR,
	DEVX_TIS,
	DEVX_MCG,
	DEVX_Q_COUNTER,
	DEVX_FLOW_COUNTER,
	DEVX_FLOW_TABLE,
	DEVX_FLOW_GROUP,
	DEVX_FLOW_ENTRY,
	DEVX_REFORMAT,
	DEVX_MODIFY_HEADER,
	DEVX_SCHED,
	DEVX_L2_ENTRY,
	DEVX_VXLAN_PORT,
	DEVX_GENERAL,
	DEVX_KINDS,
};

/* What may be done by a command, and so which call takes it. */
enum devx_verb {
	DEVX_GENERAL_CMD, /* mlx5dv_devx_general_cmd() */
	DEVX_CREATE,
	DEVX_QUERY,
	DEVX_MODIFY,
	DEVX_DESTROY, /* mlx5dv_devx_obj_destroy() does it; nobody sends one */
	DEVX_CREATE_EQ,
};

struct devx_cmd;
struct devx_sub;

struct devx_row {
	uint16_t op;
	uint8_t kind;
	uint8_t verb;
	uint16_t in_min, out_min; /* shorter mailboxes are -EINVAL */
	/* where the input names the object; 0: where most do */
	uint16_t id_bit, id_width;
	int (*run)(struct devx_cmd *c);
};

/* The row of this command for this call, or of another call that takes it, or NULL. */
const struct devx_row *devx_row_find(uint16_t op, enum devx_verb verb);

#define DEVX_USES 4

/* The public handle. Everything but `users` and `subs` is constant after creation, or devx.lock's. */
struct mlx5dv_devx_obj {
	struct devx *devx;
	enum devx_kind kind;
	uint32_t number;
	uint32_t handle;
	uint16_t type;  /* of a general object */
	bool stand_in;  /* for a verbs object, while a call lasts */
	uint32_t count; /* numbers that it stands for, when more than one */
	unsigned int users;
	struct mlx5dv_devx_obj *uses[DEVX_USES];
	struct devx_umem *umem[2]; /* of its ring and its doorbell record */
	union {
		void *hca;
		struct hca_pd *pd;
		struct hca_cq *cq;
		struct hca_qp *qp;
		struct hca_srq *srq;
		struct hca_mr *mr;
		struct hca_mkey *mkey; /* when indirect */
		struct hca_xrcd *xrcd;
		struct hca_eq *eq;
		struct hca_wq *wq;
		struct hca_ind_table *ind_table;
		struct hca_rss *rss;
		struct devx_flow_table *flow_table;
		struct devx_flow_group *flow_group;
		struct devx_flow_entry *flow_entry;
		struct flow_edit *edit;
		struct hca_counters *q_counters;
		struct hca_shaper *shaper;
	};
	bool indirect;                   /* a key of other keys' pieces */
	bool reformat_decaps;            /* an edit that comes before others */
	struct hca_ind_table *own_table; /* of a TIR with one queue */
	struct flow_counter *counters;   /* `count` of them */
	/* The context as the program gave it: what a query answers from. */
	uint8_t *image;
	size_t image_len;
	struct devx_user_eq *user_eq;
	/* raw queues hold these themselves */
	struct hca_cq *held_cq;
	struct hca_pd *held_pd;
	struct mlx5dv_devx_obj *next, *prev;
	struct devx_sub *subs; /* event_lock */
};

struct devx_umem {
	struct mlx5dv_devx_umem pub;
	struct devx *devx;
	uint8_t *addr;
	size_t size;
	void *map; /* of a dmabuf, ours */
	size_t map_len;
	void *pinned; /* the program's address, when `addr` is another */
	unsigned int users;
};

struct devx_uar {
	struct mlx5dv_devx_uar pub;
	struct devx *devx;
	struct hca_uar *hca;
	struct devx_uar *next;
};

#define DEVX_VECTORS 256

struct devx_vector {
	struct mlx5dv_devx_msi_vector pub;
	struct devx *devx;
	unsigned int users; /* event queues; devx.lock */
};

struct devx {
	struct mlx5_context *ctx;
	pthread_mutex_t lock;
	struct mlx5dv_devx_obj *objs;
	uint32_t handles;
	struct hca_table *tables[DEVX_KINDS]; /* by number; made with need */
	uint32_t last[DEVX_KINDS];
	struct devx_uar *uars;
	struct devx_vector *vectors[DEVX_VECTORS];
	int events_fd; /* vfio.c; -1 until asked for */

	pthread_mutex_t event_lock;
	struct devx_sub *unaffiliated;
	struct devx_user_eq *eqs;
};

/* ---- a command on its way ---- */

struct devx_cmd {
	struct devx *devx;
	const struct devx_row *row;
	const uint8_t *in; /* a copy, with zeros behind it */
	size_t inlen;
	uint8_t *out; /* zeros; as long as any answer, and as the caller's mailbox */
	size_t outlen;
	struct mlx5dv_devx_obj *obj; /* created: the one to be filled */
	const struct hca_adapter *adapter;
	uint8_t status;
	uint32_t syndrome;
};

#define DEVX_IN_PAD  0x400u
#define DEVX_OUT_MAX 0x1010u

static inline uint16_t devx_op(const struct devx_cmd *c)
{
	return ifc_get(c->in, cmd_in, opcode);
}

static inline uint16_t devx_op_mod(const struct devx_cmd *c)
{
	return ifc_get(c->in, cmd_in, op_mod);
}

/* Why a command was refused; the low half of the syndrome. */
enum devx_why {
	DEVX_WHY_OPCODE = 1,
	DEVX_WHY_OP_MOD,
	DEVX_WHY_UMEM,
	DEVX_WHY_UMEM_RANGE,
	DEVX_WHY_NO_UMEM,
	DEVX_WHY_ALIGNMENT,
	DEVX_WHY_SIZE,
	DEVX_WHY_TYPE,
	DEVX_WHY_PD,
	DEVX_WHY_TD,
	DEVX_WHY_CQ,
	DEVX_WHY_EQ,
	DEVX_WHY_SRQ,
	DEVX_WHY_QP,
	DEVX_WHY_UAR,
	DEVX_WHY_OBJECT,
	DEVX_WHY_STATE,
	DEVX_WHY_FIELD,
	DEVX_WHY_PORT,
	DEVX_WHY_INDEX,
	DEVX_WHY_BUSY,
	DEVX_WHY_MEMORY,
	DEVX_WHY_OFFERED, /* a feature that is not offered */
};

/* Records status, syndrome and sentence; returns -EREMOTEIO. */
int devx_refuse(struct devx_cmd *c, uint8_t status, enum devx_why why, const char *fmt, ...)
	__attribute__((format(printf, 4, 5), cold));
/* The same, and analyzers see what comes back. */
#define devx_refuse(...) ((devx_refuse)(__VA_ARGS__), -EREMOTEIO)
/* The same for what an adapter call returned, which has explained itself. 0 stays 0. */
int devx_refuse_errno(struct devx_cmd *c, int err, enum devx_why why);

/* Runs a command whose lengths are the caller's; the public calls end here. 0 or -errno. */
int devx_exec(struct devx *devx, enum devx_verb verb, struct mlx5dv_devx_obj *obj, const void *in,
	      size_t inlen, void *out, size_t outlen);

/* ---- objects; devx.lock held ---- */

struct mlx5dv_devx_obj *devx_find(struct devx *devx, enum devx_kind kind, uint32_t number);
/* Gives the object `count` free numbers of its kind, from `from` (not 0) to limit - 1. */
int devx_number(struct mlx5dv_devx_obj *obj, uint32_t from, uint32_t limit, uint32_t count);
/* Makes an object by a command; the public calls end here. NULL and errno. */
struct mlx5dv_devx_obj *devx_create(struct devx *devx, enum devx_verb verb, const void *in,
				    size_t inlen, void *out, size_t outlen);
/* The object needs another one, which cannot go before it. */
void devx_use(struct mlx5dv_devx_obj *obj, struct mlx5dv_devx_obj *other);
/*
 * Objects of the adapter, by number and with a use taken: those of this context only, whoever made
 * them. NULL: there is none.
 */
struct hca_pd *devx_hold_pd(const struct devx_cmd *c, uint32_t pdn);
struct hca_cq *devx_hold_cq(const struct devx_cmd *c, uint32_t cqn);
struct hca_srq *devx_hold_srq(const struct devx_cmd *c, uint32_t srqn);
/* Keeps a copy of the context. */
int devx_keep(struct devx_cmd *c, const void *image, size_t len);
void devx_obj_drop(struct mlx5dv_devx_obj *obj); /* and everything that it holds */
/* One whose creation failed half-way. */
void devx_obj_abort(struct mlx5dv_devx_obj *obj);
int devx_obj_destroy(struct mlx5dv_devx_obj *obj);
int devx_mcg_detach(struct mlx5dv_devx_obj *obj);
struct mlx5_context *devx_context(struct ibv_context *context, const char *call);

/* What hca objects call their user. Bit 0 tells it from a verbs handle. */
static inline void *devx_user(struct mlx5dv_devx_obj *obj)
{
	return (void *)((uintptr_t)obj | 1);
}

static inline struct mlx5dv_devx_obj *devx_of_user(void *user)
{
	return (uintptr_t)user & 1 ? (void *)((uintptr_t)user & ~(uintptr_t)1) : NULL;
}

/* ---- devx_mem.c ---- */
struct devx_ring {
	uint32_t id;
	uint64_t offset;
	uint64_t bytes;
	bool valid;
	uint32_t align;
	const char *what;
};
/* An address in user memory, and the umem used by the object from now on (slot 0 or 1). */
int devx_umem_at(struct devx_cmd *c, int slot, const struct devx_ring *ring, void **out);

/* ---- devx_uar.c ---- */
/* The page of this number must be the context's; it is watched from now on. */
int devx_uar_use(struct devx_cmd *c, uint32_t id, struct hca_uar **out);
void devx_uars_fini(struct devx *devx);

/* ---- devx_eq.c ---- */
struct devx_user_eq {
	struct mlx5dv_devx_eq pub;
	struct devx *devx;
	struct mlx5dv_devx_obj *obj;
	size_t size;
	uint64_t mask[4];
	struct devx_vector *vector;
	struct devx_user_eq *next; /* event_lock */
};

/* The queue of this number; *out NULL: one of the adapter's own, whose events subscribers get. */
int devx_eq_find(struct devx_cmd *c, uint32_t eqn, struct hca_eq **out);
void devx_eq_release(struct devx_user_eq *eq);
void devx_eq_unlist(struct devx_user_eq *eq);
void devx_vectors_fini(struct devx *devx);
int devx_create_eq(struct devx_cmd *c);

/* ---- devx_event.c ---- */
bool devx_event_tap(void *arg, const struct hca_event *event);
void devx_event_cq(void *user); /* a completion event of a DEVX CQ */
void devx_subs_drop(struct mlx5dv_devx_obj *obj);

/* ---- devx_wq.c, devx_misc.c ---- */
int devx_wq_number(struct devx_cmd *c);
/* An object that the command names, and now needs. */
int devx_need(struct devx_cmd *c, enum devx_kind kind, uint32_t id, const char *what);
/* Ring and record; queue and domain, which the object then holds; a change of state. */
int devx_check_wq(struct devx_cmd *c, const void *wq, uint32_t min_shift, void *at[2]);
int devx_check_cq(struct devx_cmd *c, uint32_t cqn);
int devx_check_pd(struct devx_cmd *c, uint32_t pdn);
int devx_check_edge(struct devx_cmd *c, unsigned int said, unsigned int left, unsigned int from,
		    unsigned int to);
void devx_rqt_release(struct mlx5dv_devx_obj *obj);
int devx_tir_destroy(struct mlx5dv_devx_obj *obj);
uint64_t devx_general_types(void);

/* ---- devx_counter.c ---- */
/* The set of this number; NULL for 0. */
int devx_counters_find(struct devx_cmd *c, uint32_t id, struct hca_counters **out);

/* ---- devx_flow.c, devx_fte.c ---- */
/* The most of each, as the capabilities say. */
#define DEVX_FLOW_LEVELS   16u
#define DEVX_FLOW_LOG_SIZE 16u
#define DEVX_FLOW_DESTS    8u
#define DEVX_FLOW_MODIFY   32u
int devx_flow_table_destroy(struct mlx5dv_devx_obj *obj);
int devx_flow_group_destroy(struct mlx5dv_devx_obj *obj);
int devx_fte_destroy(struct mlx5dv_devx_obj *obj);

/* ---- devx_port.c ---- */
struct hca_port_attr;
/* Port 0 is the function's own, the first. */
int devx_find_port(struct devx_cmd *c, unsigned int number, struct hca_port_attr *out);

/* ---- devx_qpc.c ---- */
struct devx_step {
	uint16_t op;
	uint8_t from, to; /* enum hca_qp_state; from 0xff: any */
};
int devx_qpc_modify(struct devx_cmd *c, struct hca_qp *qp);
void devx_qpc_fill(const struct hca_adapter *a, struct hca_qp *qp, void *qpc);
void devx_cqc_fill(struct hca_cq *cq, void *cqc);

/* ---- context.c ---- */
int devx_init(struct mlx5_context *ctx);
void devx_fini(struct mlx5_context *ctx);

/* ---- the commands ---- */
int devx_nop(struct devx_cmd *c);
int devx_query_hca_cap(struct devx_cmd *c);
int devx_query_adapter(struct devx_cmd *c);
int devx_query_issi(struct devx_cmd *c);
int devx_query_special(struct devx_cmd *c);
int devx_query_nic_vport(struct devx_cmd *c);
int devx_query_esw_vport(struct devx_cmd *c);
int devx_query_vport_state(struct devx_cmd *c);
int devx_query_hca_vport(struct devx_cmd *c);
int devx_query_hca_gid(struct devx_cmd *c);
int devx_query_hca_pkey(struct devx_cmd *c);
int devx_query_roce_address(struct devx_cmd *c);
int devx_query_vport_counter(struct devx_cmd *c);
int devx_query_lag(struct devx_cmd *c);
int devx_access_reg(struct devx_cmd *c);
int devx_zeros(struct devx_cmd *c); /* an answer of zeros is the truth */

int devx_alloc_pd(struct devx_cmd *c);
int devx_alloc_xrcd(struct devx_cmd *c);
int devx_create_mkey(struct devx_cmd *c);
int devx_query_mkey(struct devx_cmd *c);
int devx_create_psv(struct devx_cmd *c);

int devx_create_cq(struct devx_cmd *c);
int devx_query_cq(struct devx_cmd *c);
int devx_modify_cq(struct devx_cmd *c);
int devx_query_eq(struct devx_cmd *c);

int devx_create_qp(struct devx_cmd *c);
int devx_modify_qp(struct devx_cmd *c);
int devx_query_qp(struct devx_cmd *c);
int devx_attach_mcg(struct devx_cmd *c);

int devx_create_rmp(struct devx_cmd *c);
int devx_modify_rmp(struct devx_cmd *c);
int devx_query_rmp(struct devx_cmd *c);
int devx_create_xrc_srq(struct devx_cmd *c);
int devx_query_srq(struct devx_cmd *c);
int devx_create_srq(struct devx_cmd *c);
int devx_arm_rq(struct devx_cmd *c);
int devx_create_dct(struct devx_cmd *c);
int devx_query_dct(struct devx_cmd *c);
int devx_drain_dct(struct devx_cmd *c);

int devx_create_rq(struct devx_cmd *c);
int devx_modify_rq(struct devx_cmd *c);
int devx_create_sq(struct devx_cmd *c);
int devx_modify_sq(struct devx_cmd *c);
int devx_query_rq(struct devx_cmd *c);
int devx_query_sq(struct devx_cmd *c);
int devx_query_tir(struct devx_cmd *c);
int devx_create_rqt(struct devx_cmd *c);
int devx_modify_rqt(struct devx_cmd *c);
int devx_query_rqt(struct devx_cmd *c);
int devx_create_tir(struct devx_cmd *c);
int devx_modify_tir(struct devx_cmd *c);
int devx_create_tis(struct devx_cmd *c);
int devx_modify_tis(struct devx_cmd *c);
int devx_query_tis(struct devx_cmd *c);

int devx_alloc_number(struct devx_cmd *c); /* objects that are no more than their number */
int devx_alloc_q_counter(struct devx_cmd *c);
int devx_query_q_counter(struct devx_cmd *c);
int devx_alloc_flow_counter(struct devx_cmd *c);
int devx_query_flow_counter(struct devx_cmd *c);
int devx_create_flow_table(struct devx_cmd *c);
int devx_query_flow_table(struct devx_cmd *c);
int devx_modify_flow_table(struct devx_cmd *c);
int devx_create_flow_group(struct devx_cmd *c);
int devx_query_flow_group(struct devx_cmd *c);
int devx_create_fte(struct devx_cmd *c);
int devx_modify_fte(struct devx_cmd *c);
int devx_query_fte(struct devx_cmd *c);
int devx_alloc_reformat(struct devx_cmd *c);
int devx_alloc_modify_header(struct devx_cmd *c);
int devx_create_sched(struct devx_cmd *c);
int devx_query_sched(struct devx_cmd *c);
int devx_modify_sched(struct devx_cmd *c);
int devx_create_general(struct devx_cmd *c);
int devx_query_general(struct devx_cmd *c);
int devx_modify_general(struct devx_cmd *c);

#endif
