/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Multicast groups of queue pairs.
 */
#include <string.h>

#include "hca/transport/mcast.h"
#include "util/explain.h"
#include "verbs/object_check.h"
#include "verbs/removal.h"
#include "verbs/result.h"

#define MLID_FIRST     0xc000
#define LID_PERMISSIVE 0xffff

/* On InfiniBand a group has a LID. On Ethernet, or with an unknown port, any LID is accepted. */
static bool wants_mlid(struct vb_qp *qp)
{
	const struct hca_adapter *a = to_context(qp->qp.context)->adapter;
	struct hca_qp_attr attr;

	hca_qp_query(qp->hca, &attr);
	if (attr.state != HCA_QPS_RESET && attr.port >= 1 && attr.port <= a->port_count)
		return a->ports[attr.port - 1].link == HCA_LINK_INFINIBAND;
	for (int i = 0; i < a->port_count; i++)
		if (a->ports[i].link == HCA_LINK_ETHERNET)
			return false;
	return true;
}

static bool is_group(const uint8_t gid[16])
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	return gid[0] == 0xff || (!memcmp(gid, mapped, sizeof(mapped)) && (gid[12] & 0xf0) == 0xe0);
}

static int check(struct vb_qp *qp, const char *call, const union ibv_gid *gid, uint16_t lid)
{
	if (qp->qp.qp_type != IBV_QPT_UD)
		return explain(EINVAL,
			       "%s: the queue pair is of type %d; only UD (%d) receives multicast",
			       call, (int)qp->qp.qp_type, IBV_QPT_UD);
	if (!is_group(gid->raw))
		return explain(EINVAL,
			       "%s: the GID begins with %02x%02x; a group's begins with ff, or "
			       "maps an IPv4 group",
			       call, gid->raw[0], gid->raw[1]);
	if (wants_mlid(qp) && (lid < MLID_FIRST || lid == LID_PERMISSIVE))
		return explain(EINVAL, "%s: LID 0x%x; on InfiniBand groups have 0x%x to 0x%x", call,
			       lid, MLID_FIRST, LID_PERMISSIVE - 1);
	return 0;
}

int ibv_attach_mcast(struct ibv_qp *public, const union ibv_gid *gid, uint16_t lid)
{
	struct vb_qp *qp = to_qp(public);
	struct hca_gid group;
	int err = vb_check_present(public->context);

	if (!err)
		err = vb_check_qp(public, EINVAL, "ibv_attach_mcast");
	if (!err)
		err = check(qp, "ibv_attach_mcast", gid, lid);
	if (err)
		return vb_result(err);
	memcpy(group.raw, gid->raw, sizeof(group.raw));
	return vb_result(hca_qp_attach_mcast(qp->hca, &group, lid));
}

int ibv_detach_mcast(struct ibv_qp *public, const union ibv_gid *gid, uint16_t lid)
{
	struct vb_qp *qp = to_qp(public);
	struct hca_gid group;
	int err = vb_check_destroy(public->context);

	if (!err)
		err = vb_check_qp(public, EINVAL, "ibv_detach_mcast");
	if (!err)
		err = check(qp, "ibv_detach_mcast", gid, lid);
	if (err)
		return vb_result(err);
	memcpy(group.raw, gid->raw, sizeof(group.raw));
	return vb_result(hca_qp_detach_mcast(qp->hca, &group, lid));
}
