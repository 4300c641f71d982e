/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Options of an id. Refusals follow the kernel's rdma_cm: ENOSYS for an unknown option, EINVAL for
 * a known one of the wrong size or in the wrong state.
 */
#include <endian.h>
#include <errno.h>
#include <string.h>

#include "cm/id.h"
#include "cm/port.h"
#include "cm/result.h"
#include "cm/route.h"
#include "util/explain.h"

#define PATH_WANTED (IBV_PATH_FLAG_GMP | IBV_PATH_FLAG_PRIMARY | IBV_PATH_FLAG_BIDIRECTIONAL)

static int check_size(const char *option, size_t len, size_t want)
{
	if (len == want)
		return 0;
	return explain(EINVAL, "%s takes %zu bytes, not %zu", option, want, len);
}

static int set_tos(struct cm_id *id, const void *value, size_t len)
{
	int err = check_size("RDMA_OPTION_ID_TOS", len, sizeof(uint8_t));

	if (err)
		return err;
	id->tos = *(const uint8_t *)value;
	return 0;
}

static int set_reuse_addr(struct cm_id *id, const void *value, size_t len)
{
	int err = check_size("RDMA_OPTION_ID_REUSEADDR", len, sizeof(int));
	int on;

	if (err)
		return err;
	memcpy(&on, value, sizeof(on));
	if (id->state != CM_IDLE && (!on || id->state == CM_LISTEN))
		return explain(EINVAL,
			       "the id is %s; REUSEADDR can be switched on until it "
			       "listens, and off until it is bound",
			       cm_state_name(id->state));
	id->reuse_addr = on;
	cm_port_update(id);
	return 0;
}

static int set_af_only(struct cm_id *id, const void *value, size_t len)
{
	int err = check_size("RDMA_OPTION_ID_AFONLY", len, sizeof(int));
	int on;

	if (err)
		return err;
	if (id->state != CM_IDLE && id->state != CM_BOUND)
		return explain(EINVAL, "the id is %s; AFONLY is for ids not further than bound",
			       cm_state_name(id->state));
	memcpy(&on, value, sizeof(on));
	id->af_only = on;
	cm_port_update(id);
	return 0;
}

static int set_ack_timeout(struct cm_id *id, const void *value, size_t len)
{
	int err = check_size("RDMA_OPTION_ID_ACK_TIMEOUT", len, sizeof(uint8_t));

	if (err)
		return err;
	if (id->pub.qp_type != IBV_QPT_RC && id->pub.qp_type != IBV_QPT_XRC_SEND)
		return explain(EINVAL,
			       "QPs of type %d have no acknowledgements, so no timeout for "
			       "them; IBV_QPT_RC and IBV_QPT_XRC_SEND do",
			       id->pub.qp_type);
	id->ack_timeout = *(const uint8_t *)value;
	id->ack_timeout_set = true;
	return 0;
}

static void convert_path(const struct ibv_path_record *wire, uint32_t flags,
			 struct ibv_sa_path_rec *path)
{
	uint32_t flow_hop = be32toh(wire->flowlabel_hoplimit);

	*path = (struct ibv_sa_path_rec){
		.dgid = wire->dgid,
		.sgid = wire->sgid,
		.dlid = wire->dlid,
		.slid = wire->slid,
		.flow_label = htobe32(flow_hop >> 8 & 0xfffff),
		.hop_limit = flow_hop,
		.traffic_class = wire->tclass,
		.reversible = !!(wire->reversible_numpath & IBV_PATH_RECORD_REVERSIBLE),
		.numb_path = 1,
		.pkey = wire->pkey,
		.sl = be16toh(wire->qosclass_sl) & 0xf,
		/* 2: exactly this */
		.mtu_selector = 2,
		.mtu = wire->mtu & 0x1f,
		.rate_selector = 2,
		.rate = wire->rate & 0x1f,
		.packet_life_time_selector = 2,
		.packet_life_time = wire->packetlifetime & 0x1f,
		.preference = flags,
	};
}

static int set_ib_path(struct cm_id *id, const void *value, size_t len)
{
	struct ibv_sa_path_rec path;
	struct ibv_path_data data;
	size_t at;

	if (len % sizeof(data))
		return explain(EINVAL,
			       "RDMA_OPTION_IB_PATH takes records of %zu bytes, and %zu "
			       "bytes are no multiple of that",
			       sizeof(data), len);
	for (at = 0; at < len; at += sizeof(data)) {
		memcpy(&data, (const char *)value + at, sizeof(data));
		if (data.flags == PATH_WANTED)
			break;
	}
	if (at == len)
		return explain(EINVAL,
			       "none of the %zu path records is primary, for general "
			       "management and bidirectional (flags 0x%x)",
			       len / sizeof(data), PATH_WANTED);
	convert_path(&data.path, data.flags, &path);
	return cm_id_set_route(id, &path);
}

static const struct option {
	int level, name;
	int (*set)(struct cm_id *id, const void *value, size_t len);
} options[] = {
	{ RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, set_tos },
	{ RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, set_reuse_addr },
	{ RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, set_af_only },
	{ RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, set_ack_timeout },
	{ RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, set_ib_path },
};

static int set_option(struct cm_id *id, int level, int name, const void *value, size_t len)
{
	size_t i;

	for (i = 0; i < array_size(options); i++) {
		if (options[i].level != level || options[i].name != name)
			continue;
		if (!value)
			return explain(EINVAL, "option %d of level %d has no value", name, level);
		return options[i].set(id, value, len);
	}
	return explain(ENOSYS, "there is no option %d of level %d; rdma_cma.h lists RDMA_OPTION_*",
		       name, level);
}

VB_API int rdma_set_option(struct rdma_cm_id *pub, int level, int optname, void *optval,
			   size_t optlen)
{
	struct cm_id *id;
	int err;

	err = cm_id_enter(pub, __func__, &id);
	if (err)
		return cm_result(err);
	err = set_option(id, level, optname, optval, optlen);
	cm_id_leave();
	return cm_result(err);
}
