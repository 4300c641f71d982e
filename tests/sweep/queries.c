/* SPDX-License-Identifier: BSD-2-Clause */
/* Questions about adapters, conversions, and calls that say no. */
#include "scenario.h"

#include <string.h>
#include <unistd.h>
#include <infiniband/marshall.h>
#include <rdma/rdma_cma.h>

/* Exported, and in no public header. */
const char *ibv_get_sysfs_path(void);
int ibv_read_sysfs_file(const char *dir, const char *file, char *buf, size_t size);
int ibv_dontfork_range(void *base, size_t size);
int ibv_dofork_range(void *base, size_t size);

static void ask_device(void)
{
	struct ibv_query_device_ex_input input = { 0 };
	struct ibv_device_attr_ex ex;
	struct ibv_device_attr attr;
	struct ibv_values_ex values = { .comp_mask = IBV_VALUES_MASK_RAW_CLOCK };
	char text[64];

	DO(ibv_query_device(a.ctx, &attr));
	DO(ibv_query_device_ex(a.ctx, &input, &ex));
	DO(ibv_query_rt_values_ex(a.ctx, &values));
	did(ibv_get_device_guid(a.ctx->device), "a GUID");
	ibv_get_device_index(a.ctx->device);
	did(ibv_is_qpt_supported(1u << IBV_QPT_RC, IBV_QPT_RC), "a transport");
	did(verbs_get_ctx(a.ctx), "a context");
	ibv_read_sysfs_file(ibv_get_sysfs_path(), "class/no-such-file", text, sizeof(text));
}

static void ask_port(void)
{
	struct ibv_gid_entry entries[32];
	struct ibv_port_attr port;
	union ibv_gid gid;
	uint64_t speed;
	__be16 pkey;

	DO(ibv_query_port(a.ctx, 1, &port));
	DO(ibv_query_port_speed(a.ctx, 1, &speed));
	DO(ibv_query_gid(a.ctx, 1, a.gid_index, &gid));
	did(ibv_query_gid_table(a.ctx, entries, 32, 0) > 0, "ibv_query_gid_table");
	if (DO(ibv_query_pkey(a.ctx, 1, 0, &pkey)))
		did(ibv_get_pkey_index(a.ctx, 1, pkey) == 0, "ibv_get_pkey_index");
}

static void ask_names(void)
{
	const char *names[] = {
		ibv_node_type_str(IBV_NODE_CA),       ibv_port_state_str(IBV_PORT_ACTIVE),
		ibv_event_type_str(IBV_EVENT_CQ_ERR), ibv_wc_status_str(IBV_WC_SUCCESS),
		ibv_wr_opcode_str(IBV_WR_SEND),       rdma_event_str(RDMA_CM_EVENT_ESTABLISHED)
	};

	for (unsigned int i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		did(names[i] && names[i][0], "a name");
	did(ibv_rate_to_mult(mult_to_ibv_rate(4)) == 4, "a rate");
	did(ibv_rate_to_mbps(mbps_to_ibv_rate(10000)) == 10000, "a rate");
	did(ibv_inc_rkey(0x1ff) == 0x100, "ibv_inc_rkey");
	did(ibv_flow_label_to_udp_sport(5) >= 0xc000, "a port");
}

static void convert(void)
{
	struct ib_uverbs_qp_attr kern_qp = { 0 };
	struct ib_uverbs_ah_attr kern_ah = { 0 };
	struct ib_user_path_rec kern_path = { 0 };
	struct ibv_sa_path_rec path;
	struct ibv_ah_attr ah;
	struct ibv_qp_attr qp;

	ibv_copy_qp_attr_from_kern(&qp, &kern_qp);
	ibv_copy_ah_attr_from_kern(&ah, &kern_ah);
	ibv_copy_path_rec_from_kern(&path, &kern_path);
	ibv_copy_path_rec_to_kern(&kern_path, &path);
}

static void ask_neighbour(void)
{
	struct ibv_ah_attr to = address_of(&a.gid, a.lid);
	uint8_t mac[ETHERNET_LL_SIZE];
	uint16_t vlan;

	if (a.ethernet)
		DO(ibv_resolve_eth_l2_from_gid(a.ctx, &to, mac, &vlan));
}

static void fork_calls(void)
{
	DO(ibv_fork_init());
	ibv_is_fork_initialized();
	DO(ibv_dontfork_range(a.buf, 4096));
	END(ibv_dofork_range(a.buf, 4096));
}

void part_queries(void)
{
	ask_device();
	ask_port();
	ask_names();
	convert();
	ask_neighbour();
	fork_calls();
}

/* A second context, and the objects of the first through it. */
void part_import(void)
{
	struct ibv_alloc_dm_attr dm_attr = { .length = 256 };
	int fd = OWN(dup(a.ctx->cmd_fd));
	struct ibv_context *ctx = ibv_import_device(fd);
	struct ibv_dm *dm = a.mlx5 ? ibv_alloc_dm(a.ctx, &dm_attr) : NULL, *dm2;
	struct ibv_pd *pd;
	struct ibv_mr *mr;

	did(dm || !a.mlx5, "ibv_alloc_dm");
	if (!MAKE(ctx)) {
		OWN(close(fd));
		goto free_dm;
	}
	pd = ibv_import_pd(ctx, a.pd->handle);
	if (MAKE(pd)) {
		mr = ibv_import_mr(pd, a.mr->handle);
		if (MAKE(mr))
			ibv_unimport_mr(mr);
		ibv_unimport_pd(pd);
	}
	dm2 = dm ? ibv_import_dm(ctx, dm->handle) : NULL;
	if (dm && MAKE(dm2))
		ibv_unimport_dm(dm2);
	END(ibv_close_device(ctx));
free_dm:
	if (dm)
		END(ibv_free_dm(dm));
}
