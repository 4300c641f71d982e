/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two adapters that only the connection manager can see: this program's definitions of the verbs
 * calls come before those of libibverbs, so a test decides what the adapters answer and counts
 * what the connection manager leaves behind.
 *
 * "roce", port 1, Ethernet: fe80::1, 127.0.0.1 (v1 and v2), 2001:db8::7, 192.0.2.7.
 * "ib", port 1, InfiniBand, LID 5: fe80::2.
 */
#ifndef TESTS_CM_FAKE_VERBS_H
#define TESTS_CM_FAKE_VERBS_H

#include <arpa/inet.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdlib.h>
#include <string.h>

#include "hca/engine/host.h"
#include "util/api.h"

#undef ibv_query_port
#undef ibv_get_device_list

static struct {
	int contexts, pds, channels, cqs, qps, srqs; /* alive now */
	int opens, lists;                            /* ever */
	int no_devices, no_host_gid, ports_down;
	int fail_pd, fail_cq, fail_qp, fail_modify; /* errno to fail with; 0 works */
	int cqs_until_failure;
	struct ibv_qp_attr last_attr;
	int last_mask;
	int modifies;
	struct ibv_qp_init_attr last_init;
} fake;

static struct ibv_device fake_devices[2] = {
	{ .name = "roce", .node_type = IBV_NODE_CA, .transport_type = IBV_TRANSPORT_IB },
	{ .name = "ib", .node_type = IBV_NODE_CA, .transport_type = IBV_TRANSPORT_IB },
};

static inline int fake_objects(void)
{
	return fake.pds + fake.channels + fake.cqs + fake.qps + fake.srqs;
}

VB_API struct ibv_device **ibv_get_device_list(int *count)
{
	struct ibv_device **list = calloc(3, sizeof(*list));

	fake.lists++;
	*count = 0;
	if (list && !fake.no_devices)
		for (; *count < 2; (*count)++)
			list[*count] = &fake_devices[*count];
	return list;
}

VB_API void ibv_free_device_list(struct ibv_device **list)
{
	free(list);
}

VB_API struct ibv_context *ibv_open_device(struct ibv_device *device)
{
	struct ibv_context *context = calloc(1, sizeof(*context));

	hca_host_join(); /* a context of the real library does so: queue pair 1 needs it */
	context->device = device;
	fake.contexts++;
	fake.opens++;
	return context;
}

VB_API int ibv_close_device(struct ibv_context *context)
{
	free(context);
	fake.contexts--;
	return 0;
}

VB_API int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
	(void)context;
	memset(attr, 0, sizeof(*attr));
	attr->phys_port_cnt = 1;
	return 0;
}

static int is_ib(struct ibv_context *context)
{
	return context->device == &fake_devices[1];
}

VB_API int ibv_query_port(struct ibv_context *context, uint8_t port_num,
			  struct _compat_ibv_port_attr *out)
{
	struct ibv_port_attr *attr = (struct ibv_port_attr *)out;

	if (port_num != 1)
		return EINVAL;
	memset(attr, 0, sizeof(*attr));
	attr->state = fake.ports_down ? IBV_PORT_DOWN : IBV_PORT_ACTIVE;
	attr->gid_tbl_len = 16;
	attr->active_mtu = is_ib(context) ? IBV_MTU_4096 : IBV_MTU_1024;
	attr->active_width = 2;
	attr->active_speed = 32;
	attr->active_speed_ex = 32;
	attr->lid = is_ib(context) ? 5 : 0;
	attr->link_layer = is_ib(context) ? IBV_LINK_LAYER_INFINIBAND : IBV_LINK_LAYER_ETHERNET;
	return 0;
}

static void put_gid(struct ibv_gid_entry *entries, ssize_t *count, const char *text, int index,
		    enum ibv_gid_type type)
{
	struct ibv_gid_entry *entry = &entries[(*count)++];

	memset(entry, 0, sizeof(*entry));
	inet_pton(AF_INET6, text, entry->gid.raw);
	entry->gid_index = index;
	entry->port_num = 1;
	entry->gid_type = type;
	entry->ndev_ifindex = type == IBV_GID_TYPE_IB ? 0 : 7;
}

VB_API ssize_t _ibv_query_gid_table(struct ibv_context *context, struct ibv_gid_entry *entries,
				    size_t max, uint32_t flags, size_t entry_size)
{
	ssize_t count = 0;

	if (flags || entry_size != sizeof(*entries) || max < 16)
		return -EINVAL;
	if (is_ib(context)) {
		put_gid(entries, &count, "fe80::2", 0, IBV_GID_TYPE_IB);
		return count;
	}
	put_gid(entries, &count, "fe80::1", 0, IBV_GID_TYPE_ROCE_V1);
	put_gid(entries, &count, "fe80::1", 1, IBV_GID_TYPE_ROCE_V2);
	if (!fake.no_host_gid) {
		put_gid(entries, &count, "::ffff:127.0.0.1", 2, IBV_GID_TYPE_ROCE_V1);
		put_gid(entries, &count, "::ffff:127.0.0.1", 3, IBV_GID_TYPE_ROCE_V2);
	}
	put_gid(entries, &count, "2001:db8::7", 5, IBV_GID_TYPE_ROCE_V2);
	put_gid(entries, &count, "::ffff:192.0.2.7", 6, IBV_GID_TYPE_ROCE_V2);
	return count;
}

VB_API int ibv_query_pkey(struct ibv_context *context, uint8_t port_num, int index, __be16 *pkey)
{
	(void)context;
	if (port_num != 1 || index)
		return -1;
	*pkey = 0xffff;
	return 0;
}

VB_API int ibv_get_pkey_index(struct ibv_context *context, uint8_t port_num, __be16 pkey)
{
	(void)context;
	return port_num == 1 && pkey == 0xffff ? 0 : -1;
}

/* An object that has only its first members; NULL with errno when a test wants it to fail. */
static void *make(size_t size, int error, int *alive)
{
	if (error) {
		errno = error;
		return NULL;
	}
	++*alive;
	return calloc(1, size);
}

static int drop(void *object, int *alive)
{
	free(object);
	--*alive;
	return 0;
}

VB_API struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
	struct ibv_pd *pd = make(sizeof(*pd), fake.fail_pd, &fake.pds);

	if (pd)
		pd->context = context;
	return pd;
}

VB_API int ibv_dealloc_pd(struct ibv_pd *pd)
{
	return drop(pd, &fake.pds);
}

VB_API struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context)
{
	(void)context;
	return make(sizeof(struct ibv_comp_channel), 0, &fake.channels);
}

VB_API int ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
	return drop(channel, &fake.channels);
}

VB_API struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe, void *cq_context,
				    struct ibv_comp_channel *channel, int comp_vector)
{
	int error = fake.fail_cq && !fake.cqs_until_failure-- ? fake.fail_cq : 0;
	struct ibv_cq *cq = make(sizeof(*cq), error, &fake.cqs);

	(void)comp_vector;
	if (!cq)
		return NULL;
	cq->context = context;
	cq->cqe = cqe;
	cq->cq_context = cq_context;
	cq->channel = channel;
	return cq;
}

VB_API int ibv_destroy_cq(struct ibv_cq *cq)
{
	return drop(cq, &fake.cqs);
}

VB_API struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct ibv_qp *qp = make(sizeof(*qp), fake.fail_qp, &fake.qps);

	fake.last_init = *attr;
	if (!qp)
		return NULL;
	attr->cap.max_inline_data = 60;
	qp->pd = pd;
	qp->context = pd->context;
	qp->qp_num = 77;
	qp->qp_type = attr->qp_type;
	return qp;
}

VB_API int ibv_destroy_qp(struct ibv_qp *qp)
{
	return drop(qp, &fake.qps);
}

VB_API int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	if (fake.fail_modify)
		return fake.fail_modify;
	if (attr->qp_state == IBV_QPS_INIT) {
		fake.last_attr = *attr;
		fake.last_mask = mask;
	}
	qp->state = attr->qp_state;
	fake.modifies++;
	return 0;
}

VB_API int ibv_query_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
	(void)qp;
	(void)ece;
	return EOPNOTSUPP;
}

VB_API struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
	struct ibv_srq *srq = make(sizeof(*srq), 0, &fake.srqs);

	attr->attr.max_wr++; /* drivers round up */
	srq->pd = pd;
	return srq;
}

VB_API int ibv_destroy_srq(struct ibv_srq *srq)
{
	return drop(srq, &fake.srqs);
}

#endif
