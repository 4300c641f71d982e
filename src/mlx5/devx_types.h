/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * DEVX: device commands in mailboxes, and the objects that they make. A command is looked up in one
 * table (devx_table.c), its mailboxes are copied and checked for length (devx.c), and one function
 * per command, in devx_<noun>.c, decodes the input, calls the adapter, and fills the output.
 *
 * A command's function returns 0, or a refusal of devx_refuse(), which becomes EREMOTEIO with a
 * status in the output mailbox; any other -errno is returned to the caller as it is.
 *
 * One lock per context, devx.lock, is held while a command runs: commands are as serial as the
 * device's own. It is the outermost of the driver's locks. Events come at any time and take
 * event_lock only, inside which only an event queue's lock is taken.
 */
#ifndef MLX5_DEVX_TYPES_H
#define MLX5_DEVX_TYPES_H

#include <sys/queue.h>

#include "hca/device/table.h"
#include "mlx5/objects.h"

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
	DEVX_XRQ,
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

/* The kind of a command, which decides the call that takes it. */
enum devx_verb {
	DEVX_GENERAL_CMD, /* mlx5dv_devx_general_cmd() */
	DEVX_CREATE,
	DEVX_QUERY,
	DEVX_MODIFY,
	DEVX_DESTROY, /* mlx5dv_devx_obj_destroy() does it; it is refused as a command */
	DEVX_CREATE_EQ,
};

struct devx_cmd;
struct devx_sub; /* devx_event.c */

LIST_HEAD(devx_subs, devx_sub);

struct devx_row {
	uint16_t op;
	uint8_t kind;
	uint8_t verb;
	uint16_t in_min, out_min; /* shorter mailboxes are -EINVAL */
	/* bit and width of the object's number in the input; 0: those of most commands */
	uint16_t id_bit, id_width;
	int (*run)(struct devx_cmd *c);
};

/* Use by other processes (devx_share.h). All 0 for what was neither exported nor imported. */
struct devx_shared {
	struct devx_export *entry; /* exported; mlx5_state.export_lock */
	uint32_t owner;            /* imported: the process that owns it, */
	uint32_t id;               /* and its number there */
	bool is_umem;
	bool is_alias;    /* imported into its own context: a second handle */
	bool keep_handle; /* an importer destroys it: the creator's handle stays */
	bool gone;        /* destroyed; only the handle is left */
};

#define DEVX_USES 4

/* The public handle. Everything but `users` and `subs` is constant after creation, or devx.lock's. */
struct mlx5dv_devx_obj {
	struct devx *devx;
	enum devx_kind kind;
	uint32_t number;
	uint32_t handle;
	uint16_t type;  /* of a general object */
	bool stand_in;  /* for a verbs object, during a call */
	uint32_t count; /* how many numbers it has, when more than one */
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
		struct devx_psvs *psvs;
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
		struct aso *aso;
		struct ether_port *geneve_port; /* whose parser has the option */
		struct hca_dek *dek;
		struct hca_login *login;
		struct hca_secret *secret;
	};
	bool indirect;        /* a key of pieces of other keys */
	bool reformat_decaps; /* a reformat that decapsulates: applied before other edits */
	struct hca_ind_table *own_table; /* of a TIR with one queue */
	struct flow_counter *counters;   /* `count` of them */
	/* The object's context as the program gave it, for queries. */
	uint8_t *image;
	size_t image_len;
	struct devx_user_eq *user_eq;
	struct hca_sq_register *sq_register; /* of a QP without a send doorbell record, or NULL */
	/* references of RQs and SQs */
	struct hca_cq *held_cq;
	struct hca_pd *held_pd;
	LIST_ENTRY(mlx5dv_devx_obj) link; /* of devx.objs, once `handle` is set */
	struct devx_subs subs;            /* event_lock */
	struct devx_shared shared;
};

struct devx_umem {
	struct mlx5dv_devx_umem pub;
	struct devx *devx;
	uint8_t *addr;
	size_t size;
	void *map; /* the driver's mapping of a dmabuf */
	size_t map_len;
	void *pinned; /* the program's address, when `addr` is another */
	bool foreign; /* `addr` is another process's memory, mapped */
	unsigned int users;
	struct devx_shared shared;
};

struct devx_uar {
	struct mlx5dv_devx_uar pub;
	struct devx *devx;
	struct hca_uar *hca;
	LIST_ENTRY(devx_uar) link;
};

#define DEVX_VECTORS 256

struct devx_vector {
	struct mlx5dv_devx_msi_vector pub;
	struct devx *devx;
	unsigned int users; /* event queues; devx.lock */
};

/* An event queue of a program. */
struct devx_user_eq {
	struct mlx5dv_devx_eq pub;
	struct devx *devx;
	struct mlx5dv_devx_obj *obj;
	size_t size;
	uint64_t mask[4];
	struct devx_vector *vector;
	bool listed;                   /* in devx.eqs */
	LIST_ENTRY(devx_user_eq) link; /* event_lock */
};

struct devx {
	struct mlx5_context *ctx;
	pthread_mutex_t lock;
	LIST_HEAD(, mlx5dv_devx_obj) objs;
	uint32_t handles;
	struct hca_table *tables[DEVX_KINDS]; /* objects by number; NULL until the first */
	uint32_t last[DEVX_KINDS];
	LIST_HEAD(, devx_uar) uars;
	struct devx_vector *vectors[DEVX_VECTORS];
	int events_fd; /* vfio.c; -1 until it is first used */

	pthread_mutex_t event_lock;
	struct devx_subs unaffiliated; /* subscriptions to events of no object */
	LIST_HEAD(, devx_user_eq) eqs;
};

struct devx_cmd {
	struct devx *devx;
	const struct devx_row *row;
	const uint8_t *in; /* a copy, zero-padded */
	size_t inlen;
	uint8_t *out; /* zeroed; at least DEVX_OUT_MAX, and outlen */
	size_t outlen;
	struct mlx5dv_devx_obj *obj; /* of a creation: to be filled */
	const struct hca_adapter *adapter;
	uint8_t status;
	uint32_t syndrome;
};

#define DEVX_IN_PAD  0x400u
#define DEVX_OUT_MAX 0x1010u

/* hca_*.user of objects made by commands. Bit 0 tells it from a verbs handle. */
static inline void *devx_user(struct mlx5dv_devx_obj *obj)
{
	return (void *)((uintptr_t)obj | 1);
}

static inline struct mlx5dv_devx_obj *devx_of_user(void *user)
{
	return (uintptr_t)user & 1 ? (void *)((uintptr_t)user & ~(uintptr_t)1) : NULL;
}

#endif
