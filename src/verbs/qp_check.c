/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Checks of the arguments of a new queue pair. Limits of a single model are checked by its driver.
 */
#include "verbs/qp_check.h"

#include <errno.h>

#include "util/explain.h"
#include "verbs/driver.h"
#include "verbs/object_check.h"
#include "verbs/wq.h"

#define MASK_KNOWN                                                                                 \
	(IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_XRCD | IBV_QP_INIT_ATTR_CREATE_FLAGS |             \
	 IBV_QP_INIT_ATTR_MAX_TSO_HEADER | IBV_QP_INIT_ATTR_IND_TABLE | IBV_QP_INIT_ATTR_RX_HASH | \
	 IBV_QP_INIT_ATTR_SEND_OPS_FLAGS)

#define OPS_WRITE (IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM)
#define OPS_SEND  (IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM)
#define OPS_KEYS  (IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_SEND_WITH_INV)
#define OPS_READ                                                                                   \
	(IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |                            \
	 IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | IBV_QP_EX_WITH_FLUSH | IBV_QP_EX_WITH_ATOMIC_WRITE)

/* Has no effect on connected queue pairs; Mellanox drivers accept it there. */
#define NO_SELF IBV_QP_CREATE_BLOCK_SELF_MCAST_LB
/* Has no visible effect; the driver refuses it where the model does not have it. */
#define PLAIN (NO_SELF | IBV_QP_CREATE_PCI_WRITE_END_PADDING)

static const struct rules {
	const char *name;
	bool pd, send_cq, recv_cq, xrcd;
	uint64_t send_ops;
	uint32_t create_flags;
} types[] = {
	[IBV_QPT_RC] = { "RC", true, true, true, false, OPS_SEND | OPS_WRITE | OPS_READ | OPS_KEYS,
			 PLAIN },
	[IBV_QPT_UC] = { "UC", true, true, true, false, OPS_SEND | OPS_WRITE | OPS_KEYS, PLAIN },
	[IBV_QPT_UD] = { "UD", true, true, true, false, OPS_SEND, PLAIN },
	[IBV_QPT_RAW_PACKET] = { "raw packet", true, true, true, false,
				 IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_TSO,
				 PLAIN | IBV_QP_CREATE_SCATTER_FCS |
					 IBV_QP_CREATE_CVLAN_STRIPPING },
	[IBV_QPT_XRC_SEND] = { "XRC send", true, true, false, false,
			       OPS_SEND | OPS_WRITE | OPS_READ | OPS_KEYS, 0 },
	[IBV_QPT_XRC_RECV] = { "XRC receive", false, false, false, true, 0, 0 },
};

/* Driver QPs: the driver checks the rest. */
static const struct rules drivers_own = {
	"driver", true, false, false, false, OPS_SEND | OPS_WRITE | OPS_READ | OPS_KEYS, 0,
};

static const struct rules *find_rules(enum ibv_qp_type type)
{
	if (type == IBV_QPT_DRIVER)
		return &drivers_own;
	return (size_t)type < array_size(types) && types[type].name ? &types[type] : NULL;
}

static int check_extras(const struct rules *r, const struct ibv_qp_init_attr_ex *attr)
{
	uint32_t flags = attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS ? attr->create_flags : 0;
	uint64_t ops = attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS ? attr->send_ops_flags : 0;

	if (flags & ~r->create_flags)
		return explain(EINVAL,
			       "ibv_create_qp_ex: create_flags 0x%x; a queue pair of type %s "
			       "takes 0x%x",
			       flags, r->name, r->create_flags);
	if (ops & ~r->send_ops)
		return explain(EOPNOTSUPP,
			       "ibv_create_qp_ex: send_ops_flags 0x%llx; a queue pair of "
			       "type %s has 0x%llx",
			       (unsigned long long)ops, r->name, (unsigned long long)r->send_ops);
	if (attr->comp_mask & (IBV_QP_INIT_ATTR_MAX_TSO_HEADER | IBV_QP_INIT_ATTR_IND_TABLE |
			       IBV_QP_INIT_ATTR_RX_HASH) &&
	    attr->qp_type != IBV_QPT_RAW_PACKET)
		return explain(EINVAL,
			       "ibv_create_qp_ex: comp_mask 0x%x has TSO or RSS bits, which only "
			       "raw packet queue pairs take",
			       attr->comp_mask);
	return 0;
}

static int check_caps(const struct hca_adapter *a, const struct rules *r,
		      const struct ibv_qp_init_attr_ex *attr)
{
	const struct hca_limits *l = &a->limits;
	const struct ibv_qp_cap *cap = &attr->cap;

	if (cap->max_send_wr > l->max_qp_wr && r->send_cq)
		return explain(EINVAL, "ibv_create_qp: max_send_wr %u; %s has %llu",
			       cap->max_send_wr, a->name, (unsigned long long)l->max_qp_wr);
	if (cap->max_send_sge > l->max_sge && r->send_cq)
		return explain(EINVAL, "ibv_create_qp: max_send_sge %u; %s has %llu",
			       cap->max_send_sge, a->name, (unsigned long long)l->max_sge);
	if (cap->max_inline_data > l->max_inline && r->send_cq)
		return explain(EINVAL, "ibv_create_qp: max_inline_data %u; %s has %llu",
			       cap->max_inline_data, a->name, (unsigned long long)l->max_inline);
	if (attr->srq || !r->recv_cq)
		return 0; /* there is no receive queue */
	if (cap->max_recv_wr > l->max_qp_wr)
		return explain(EINVAL, "ibv_create_qp: max_recv_wr %u; %s has %llu",
			       cap->max_recv_wr, a->name, (unsigned long long)l->max_qp_wr);
	if (cap->max_recv_sge > l->max_sge)
		return explain(EINVAL, "ibv_create_qp: max_recv_sge %u; %s has %llu",
			       cap->max_recv_sge, a->name, (unsigned long long)l->max_sge);
	return 0;
}

static bool is_rss(const struct ibv_qp_init_attr_ex *attr)
{
	return attr->comp_mask & (IBV_QP_INIT_ATTR_IND_TABLE | IBV_QP_INIT_ATTR_RX_HASH);
}

/* An RSS queue pair spreads frames over a table of work queues and has no queue of its own. */
static int check_rss(struct ibv_context *context, const struct ibv_qp_init_attr_ex *attr)
{
	const uint32_t both = IBV_QP_INIT_ATTR_IND_TABLE | IBV_QP_INIT_ATTR_RX_HASH;
	const struct ibv_rx_hash_conf *conf = &attr->rx_hash_conf;
	bool first = to_context(context)->adapter->model->driver == HCA_DRIVER_MLX4;
	const struct vb_ind_table *table;
	int err;

	if ((attr->comp_mask & both) != both)
		return explain(EINVAL, "ibv_create_qp_ex: RSS needs both IND_TABLE and RX_HASH; "
				       "comp_mask has one bit");
	if (!(attr->comp_mask & IBV_QP_INIT_ATTR_PD) || !attr->pd || attr->pd->context != context)
		return explain(EINVAL, "ibv_create_qp_ex: there is no protection domain of this "
				       "context");
	if (attr->srq || attr->send_cq || attr->cap.max_recv_wr || attr->cap.max_recv_sge ||
	    attr->cap.max_send_wr || attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS)
		return explain(EINVAL, "ibv_create_qp_ex: an RSS queue pair has no send queue and "
				       "no receive queue");
	err = vb_check_pd(attr->pd, ENOENT, "ibv_create_qp_ex");
	table = vb_ind_table_find(context, attr->rwq_ind_tbl);
	if (table && !err)
		err = vb_check_ind_table(attr->rwq_ind_tbl, ENOENT, "ibv_create_qp_ex");
	if (err)
		return err;
	if (!table)
		return explain(EINVAL, "ibv_create_qp_ex: rwq_ind_tbl is not an indirection table "
				       "of this context, or was destroyed");
	if (conf->rx_hash_function != IBV_RX_HASH_FUNC_TOEPLITZ)
		return explain(
			EOPNOTSUPP,
			"ibv_create_qp_ex: hash function %u; only Toeplitz (%u) is supported",
			conf->rx_hash_function, IBV_RX_HASH_FUNC_TOEPLITZ);
	if (conf->rx_hash_key_len != ETHER_RSS_KEY || !conf->rx_hash_key)
		return explain(first ? EOPNOTSUPP : EINVAL,
			       "ibv_create_qp_ex: a hash key of %u bytes; %u are needed",
			       conf->rx_hash_key ? conf->rx_hash_key_len : 0, ETHER_RSS_KEY);
	if (!conf->rx_hash_fields_mask && table->hca->log_size && !first)
		return explain(
			EINVAL,
			"ibv_create_qp_ex: a table of more than one entry needs a field to hash");
	return 0;
}

/* Of the objects that the type uses. */
static int check_handles(const struct rules *r, const struct ibv_qp_init_attr_ex *attr)
{
	bool receives = r->recv_cq || r == &drivers_own;
	const char *call = "ibv_create_qp";
	int err = 0;

	if (r->xrcd)
		return vb_check_xrcd(attr->xrcd, ENOENT, call);
	if (r->pd)
		err = vb_check_pd(attr->pd, ENOENT, call);
	if (!err && attr->send_cq)
		err = vb_check_cq(attr->send_cq, ENOENT, call);
	if (!err && attr->recv_cq && receives)
		err = vb_check_cq(attr->recv_cq, ENOENT, call);
	if (!err && attr->srq && receives)
		err = vb_check_srq(attr->srq, ENOENT, call);
	return err;
}

/* The objects that the type needs are given, and are of this context. */
static int check_parts(struct ibv_context *context, const struct rules *r,
		       const struct ibv_qp_init_attr_ex *attr)
{
	const struct {
		const char *name;
		bool needed;
		bool given;
		struct ibv_context *of;
	} parts[] = {
		{ "protection domain", r->pd, (attr->comp_mask & IBV_QP_INIT_ATTR_PD) && attr->pd,
		  attr->comp_mask & IBV_QP_INIT_ATTR_PD && attr->pd ? attr->pd->context : NULL },
		{ "XRC domain", r->xrcd, (attr->comp_mask & IBV_QP_INIT_ATTR_XRCD) && attr->xrcd,
		  attr->comp_mask & IBV_QP_INIT_ATTR_XRCD && attr->xrcd ? attr->xrcd->context
									: NULL },
		{ "send completion queue", r->send_cq, attr->send_cq,
		  attr->send_cq ? attr->send_cq->context : NULL },
		{ "receive completion queue", r->recv_cq, attr->recv_cq,
		  attr->recv_cq ? attr->recv_cq->context : NULL },
		{ "shared receive queue", false, attr->srq && r->recv_cq,
		  attr->srq ? attr->srq->context : NULL },
	};

	int err;

	for (size_t i = 0; i < array_size(parts); i++) {
		if (parts[i].needed && !parts[i].given)
			return explain(EINVAL, "ibv_create_qp: a queue pair of type %s needs a %s",
				       r->name, parts[i].name);
		if ((parts[i].needed || parts[i].given) && parts[i].of != context && parts[i].of)
			return explain(EINVAL, "ibv_create_qp: the %s belongs to another context",
				       parts[i].name);
	}
	err = check_handles(r, attr);
	if (err)
		return err;
	if (attr->srq && attr->qp_type != IBV_QPT_RC && to_srq(attr->srq)->hca->type == HCA_SRQ_TAG)
		return explain(EINVAL,
			       "ibv_create_qp: the shared receive queue matches tags, which "
			       "is for RC queue pairs");
	if (attr->srq && r->recv_cq && to_srq(attr->srq)->hca->type == HCA_SRQ_XRC)
		return explain(EINVAL, "ibv_create_qp: the shared receive queue is an XRC one, "
				       "which only XRC queue pairs use");
	return 0;
}

int vb_qp_check(struct ibv_context *context, const struct ibv_qp_init_attr_ex *attr,
		const void *driver_attr)
{
	const struct hca_adapter *a = to_context(context)->adapter;
	const struct vb_driver *driver = to_context(context)->driver;
	const struct rules *r = find_rules(attr->qp_type);
	int err;

	if (attr->comp_mask & ~(uint32_t)MASK_KNOWN)
		return explain(a->model->driver == HCA_DRIVER_MLX4 ? EOPNOTSUPP : EINVAL,
			       "ibv_create_qp_ex: comp_mask 0x%x has unknown bits 0x%x",
			       attr->comp_mask, attr->comp_mask & ~(uint32_t)MASK_KNOWN);
	if (attr->qp_type == IBV_QPT_DRIVER) {
		if (!driver->check_driver_qp)
			return explain(
				EINVAL,
				"ibv_create_qp: %s has no queue pairs of type IBV_QPT_DRIVER",
				a->name);
		err = driver->check_driver_qp(driver_attr);
		if (err)
			return err;
	}
	if (!r)
		return explain(EINVAL, "ibv_create_qp: type %d is unknown", (int)attr->qp_type);
	if (attr->qp_type == IBV_QPT_RAW_PACKET && a->ports[0].link != HCA_LINK_ETHERNET)
		return explain(EOPNOTSUPP,
			       "ibv_create_qp: raw packets need Ethernet, and %s is "
			       "InfiniBand",
			       a->name);
	err = is_rss(attr) && attr->qp_type == IBV_QPT_RAW_PACKET ? check_rss(context, attr)
								  : check_parts(context, r, attr);
	if (!err)
		err = check_extras(r, attr);
	if (!err)
		err = check_caps(a, r, attr);
	return err;
}
