/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Queries of devices, ports, GIDs and P_Keys. Entry points differ in how they fail: a positive
 * errno, a negative one, or -1 and errno.
 */
#include "verbs/query.h"

#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "verbs/public.h"

#include "hca/device/port.h"
#include "util/explain.h"
#include "verbs/context.h"
#include "verbs/driver.h"
#include "verbs/observer.h"
#include "verbs/private.h"
#include "verbs/removal.h"

#define SPEED_NDR 128

#undef ibv_query_port

static void fill_device_attr(const struct hca_adapter *a, struct ibv_device_attr *out)
{
	const struct hca_limits *l = &a->limits;

	snprintf(out->fw_ver, sizeof(out->fw_ver), "%s", a->model->fw_ver);
	out->node_guid = htobe64(a->node_guid);
	out->sys_image_guid = htobe64(a->node_guid);
	out->max_mr_size = l->max_mr_size;
	out->page_size_cap = ~0xfffull;
	out->vendor_id = HCA_VENDOR_ID;
	out->vendor_part_id = a->model->pci_device;
	out->hw_ver = a->model->hw_ver;
	out->max_qp = l->max_qp;
	out->max_qp_wr = l->max_qp_wr;
	out->max_sge = l->max_sge;
	out->max_sge_rd = l->max_sge_rd;
	out->max_cq = l->max_cq;
	out->max_cqe = l->max_cqe;
	out->max_mr = l->max_mr;
	out->max_pd = l->max_pd;
	out->max_qp_rd_atom = l->max_qp_rd_atom;
	out->max_res_rd_atom = l->max_res_rd_atom;
	out->max_qp_init_rd_atom = l->max_qp_init_rd_atom;
	out->atomic_cap = IBV_ATOMIC_HCA;
	out->max_mw = l->max_mw;
	out->max_mcast_grp = l->max_mcast_grp;
	out->max_mcast_qp_attach = l->max_mcast_qp_attach;
	out->max_total_mcast_qp_attach = l->max_total_mcast_qp_attach;
	out->max_ah = l->max_ah;
	out->max_srq = l->max_srq;
	out->max_srq_wr = l->max_srq_wr;
	out->max_srq_sge = l->max_srq_sge;
	out->max_pkeys = l->max_pkeys;
	out->local_ca_ack_delay = a->model->ack_delay;
	out->phys_port_cnt = a->port_count;
}

static void query_device(struct vb_context *ctx, struct ibv_device_attr_ex *attr)
{
	memset(attr, 0, sizeof(*attr));
	fill_device_attr(ctx->adapter, &attr->orig_attr);
	attr->phys_port_cnt_ex = ctx->adapter->port_count;
	attr->max_dm_size = ctx->adapter->limits.max_dm_size;
	ctx->driver->query_device(ctx, attr);
	attr->device_cap_flags_ex |= attr->orig_attr.device_cap_flags;
}

int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *device_attr)
{
	struct ibv_device_attr_ex attr;

	if (vb_check_present(context))
		return EIO;
	vb_observe(device_queried, to_context(context));
	query_device(to_context(context), &attr);
	*device_attr = attr.orig_attr;
	return 0;
}

int vb_query_device_ex(struct ibv_context *context, const struct ibv_query_device_ex_input *input,
		       struct ibv_device_attr_ex *attr, size_t size)
{
	struct ibv_device_attr_ex whole;

	if (vb_check_present(context))
		return EIO;
	if (input && input->comp_mask)
		return -explain(EINVAL,
				"ibv_query_device_ex: input comp_mask 0x%x; no bit is known",
				input->comp_mask);
	if (size < sizeof(attr->orig_attr))
		return -explain(EINVAL,
				"ibv_query_device_ex: room for %zu bytes; at least %zu are needed",
				size, sizeof(attr->orig_attr));
	vb_observe(device_queried, to_context(context));
	query_device(to_context(context), &whole);
	memset(attr, 0, size);
	memcpy(attr, &whole, size < sizeof(whole) ? size : sizeof(whole));
	return 0;
}

int vb_query_port(struct ibv_context *context, uint8_t port, struct ibv_port_attr *attr, size_t len)
{
	struct ibv_port_attr whole = { 0 };
	struct hca_port_attr p;
	int err = vb_check_present(context);

	if (!err)
		err = hca_port_query(to_context(context)->adapter, port, &p);
	if (err)
		return -err;
	whole.state = (enum ibv_port_state)p.state;
	whole.max_mtu = p.max_mtu;
	whole.active_mtu = p.active_mtu;
	whole.gid_tbl_len = p.gid_table_len;
	whole.max_msg_sz = p.max_msg_size;
	whole.pkey_tbl_len = p.pkey_table_len;
	whole.lid = p.lid;
	whole.sm_lid = p.sm_lid;
	whole.active_width = p.active_width;
	/* XDR and beyond do not fit, and are shown as the fastest that does, as by the kernel. */
	whole.active_speed = p.active_speed > SPEED_NDR ? SPEED_NDR : (uint8_t)p.active_speed;
	whole.active_speed_ex = p.active_speed;
	whole.phys_state = p.phys_state;
	if (p.link == HCA_LINK_ETHERNET) {
		whole.link_layer = IBV_LINK_LAYER_ETHERNET;
		whole.port_cap_flags = IBV_PORT_CM_SUP | IBV_PORT_IP_BASED_GIDS;
		whole.flags = IBV_QPF_GRH_REQUIRED;
	} else {
		whole.link_layer = IBV_LINK_LAYER_INFINIBAND;
		whole.port_cap_flags = IBV_PORT_TRAP_SUP | IBV_PORT_SL_MAP_SUP |
				       IBV_PORT_SYS_IMAGE_GUID_SUP | IBV_PORT_EXTENDED_SPEEDS_SUP |
				       IBV_PORT_CM_SUP | IBV_PORT_VENDOR_CLASS_SUP |
				       IBV_PORT_CLIENT_REG_SUP;
		whole.max_vl_num = 4;
		whole.subnet_timeout = 18;
	}
	memset(attr, 0, len);
	memcpy(attr, &whole, len < sizeof(whole) ? len : sizeof(whole));
	return 0;
}

int ibv_query_port(struct ibv_context *context, uint8_t port_num,
		   struct _compat_ibv_port_attr *port_attr)
{
	/* Programs older than port_cap_flags2 call this; newer ones use the dispatch table. */
	return vb_query_port(context, port_num, (struct ibv_port_attr *)port_attr,
			     offsetof(struct ibv_port_attr, port_cap_flags2));
}

int ibv_query_port_speed(struct ibv_context *context, uint32_t port_num, uint64_t *port_speed)
{
	struct hca_port_attr p;
	int err = vb_check_present(context);

	if (!err)
		err = hca_port_query(to_context(context)->adapter, port_num, &p);
	if (err)
		return -err;
	/* In units of 100 Mbit/s; 0 for a port that is down. */
	*port_speed = p.state == HCA_PORT_ACTIVE ? p.speed_mbps / 100 : 0;
	return 0;
}

static void fill_gid_entry(const struct hca_gid_entry *from, uint32_t port, uint32_t index,
			   struct ibv_gid_entry *to)
{
	memcpy(to->gid.raw, from->gid.raw, sizeof(to->gid.raw));
	to->gid_index = index;
	to->port_num = port;
	to->gid_type = (uint32_t)from->type;
	to->ndev_ifindex = from->ifindex;
}

_Static_assert((int)HCA_GID_IB == (int)IBV_GID_TYPE_IB &&
		       (int)HCA_GID_ROCE_V1 == (int)IBV_GID_TYPE_ROCE_V1 &&
		       (int)HCA_GID_ROCE_V2 == (int)IBV_GID_TYPE_ROCE_V2,
	       "GID types are the public ones");

int ibv_query_gid(struct ibv_context *context, uint8_t port_num, int index, union ibv_gid *gid)
{
	struct hca_gid_entry e;
	int err = vb_check_present(context);

	if (!err)
		err = hca_port_gid(to_context(context)->adapter, port_num, index, &e);
	if (err) {
		errno = -err;
		return -1;
	}
	memcpy(gid->raw, e.gid.raw, sizeof(gid->raw));
	return 0;
}

int _ibv_query_gid_ex(struct ibv_context *context, uint32_t port_num, uint32_t gid_index,
		      struct ibv_gid_entry *entry, uint32_t flags, size_t entry_size)
{
	struct ibv_gid_entry whole;
	struct hca_gid_entry e;
	int err;

	if (flags)
		return -explain(EOPNOTSUPP, "ibv_query_gid_ex: flags 0x%x; none is known", flags);
	err = vb_check_present(context);
	if (!err)
		err = hca_port_gid(to_context(context)->adapter, port_num, gid_index, &e);
	if (err)
		return -err;
	if (hca_gid_is_empty(&e.gid))
		return -explain(ENODATA, "ibv_query_gid_ex: GID index %u of port %u is empty",
				gid_index, port_num);
	fill_gid_entry(&e, port_num, gid_index, &whole);
	memset(entry, 0, entry_size);
	memcpy(entry, &whole, entry_size < sizeof(whole) ? entry_size : sizeof(whole));
	return 0;
}

static int fill_gid_table(const struct hca_adapter *a, const struct hca_gid_entry *all,
			  char *entries, size_t max_entries, size_t entry_size)
{
	size_t len = a->limits.gid_table_len, n = 0;

	for (size_t i = 0; i < len * a->port_count; i++)
		n += !hca_gid_is_empty(&all[i].gid);
	if (n > max_entries)
		return explain(EINVAL,
			       "ibv_query_gid_table: room for %zu entries, of %zu; the sum of "
			       "gid_tbl_len of all ports is always enough",
			       max_entries, n);
	for (size_t i = 0; i < len * a->port_count; i++) {
		struct ibv_gid_entry whole;

		if (hca_gid_is_empty(&all[i].gid))
			continue;
		fill_gid_entry(&all[i], i / len + 1, i % len, &whole);
		memset(entries, 0, entry_size);
		memcpy(entries, &whole, sizeof(whole));
		entries += entry_size;
	}
	return n;
}

ssize_t _ibv_query_gid_table(struct ibv_context *context, struct ibv_gid_entry *entries,
			     size_t max_entries, uint32_t flags, size_t entry_size)
{
	const struct hca_adapter *a = to_context(context)->adapter;
	struct hca_gid_entry *all;
	int ret = vb_check_present(context);

	if (ret)
		return ret;
	if (flags)
		return explain(EOPNOTSUPP, "ibv_query_gid_table: flags 0x%x; none is known", flags);
	if (entry_size < sizeof(*entries))
		return explain(EINVAL,
			       "ibv_query_gid_table: entries of %zu bytes; at least %zu are needed",
			       entry_size, sizeof(*entries));
	all = calloc(a->port_count * a->limits.gid_table_len, sizeof(*all));
	if (!all)
		return -ENOMEM;
	ret = hca_port_gid_tables(a, all);
	if (!ret)
		ret = fill_gid_table(a, all, (char *)entries, max_entries, entry_size);
	free(all);
	return ret;
}

VB_PRIVATE(ibv_query_gid_type);
int ibv_query_gid_type(struct ibv_context *context, uint8_t port_num, unsigned int index,
		       enum ibv_gid_type_sysfs *type)
{
	struct hca_gid_entry e;
	int err = vb_check_present(context);

	if (!err)
		err = hca_port_gid(to_context(context)->adapter, port_num, index, &e);
	if (err) {
		errno = -err;
		return -1;
	}
	*type = e.type == HCA_GID_ROCE_V2 ? IBV_GID_TYPE_SYSFS_ROCE_V2
					  : IBV_GID_TYPE_SYSFS_IB_ROCE_V1;
	return 0;
}

int ibv_query_pkey(struct ibv_context *context, uint8_t port_num, int index, __be16 *pkey)
{
	uint16_t value;
	int err = vb_check_present(context);

	if (!err)
		err = hca_port_pkey(to_context(context)->adapter, port_num, index, &value);
	if (err) {
		errno = -err;
		return -1;
	}
	*pkey = htobe16(value);
	return 0;
}

int ibv_get_pkey_index(struct ibv_context *context, uint8_t port_num, __be16 pkey)
{
	const struct hca_adapter *a = to_context(context)->adapter;
	uint16_t value;

	if (vb_check_present(context)) {
		errno = EIO;
		return -1;
	}
	for (unsigned int i = 0; i < a->limits.pkey_table_len; i++) {
		int err = hca_port_pkey(a, port_num, i, &value);

		if (err) {
			errno = -err;
			return -1;
		}
		if (value == be16toh(pkey))
			return i;
	}
	errno = -explain(ENOENT, "ibv_get_pkey_index: P_Key 0x%04x is not in the table of %s",
			 be16toh(pkey), a->name);
	return -1;
}

/* The adapter's free-running clock is CLOCK_MONOTONIC, counted at the model's rate. */
int vb_query_rt_values(struct ibv_context *context, struct ibv_values_ex *values)
{
	uint64_t ns, khz = to_context(context)->adapter->model->core_clock_khz;
	struct timespec now;

	if (values->comp_mask & ~(uint32_t)IBV_VALUES_MASK_RAW_CLOCK)
		return -explain(EINVAL, "ibv_query_rt_values_ex: comp_mask 0x%x; 0x%x is known",
				values->comp_mask, IBV_VALUES_MASK_RAW_CLOCK);
	if (!values->comp_mask)
		return 0;
	clock_gettime(CLOCK_MONOTONIC, &now);
	ns = now.tv_sec * 1000000000ull + now.tv_nsec;
	values->comp_mask = IBV_VALUES_MASK_RAW_CLOCK;
	values->raw_clock.tv_sec = 0;
	values->raw_clock.tv_nsec = (unsigned __int128)ns * khz / 1000000;
	return 0;
}
