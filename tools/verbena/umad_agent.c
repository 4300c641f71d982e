/* SPDX-License-Identifier: BSD-2-Clause */
#include "umad_agent.h"

#include <errno.h>
#include <string.h>

#define OUI_MAX     0xffffffu
#define CLASS_MOST  80   /* classes of the kernel's table, and the directed route's */
#define VERSION_END 0x83 /* likewise */

enum {
	CLASS_SMP = 0x01,
	CLASS_SA = 0x03,
	CLASS_DEVICE = 0x06,
	CLASS_DEVICE_ADM = 0x10,
	CLASS_BIS = 0x12,
	CLASS_VENDOR2 = 0x30,
	CLASS_VENDOR2_END = 0x4f,
	CLASS_SMP_DIRECTED = 0x81,
};

void umad_agent_from_req(const struct ib_user_mad_reg_req *req, struct umad_agent *out)
{
	*out = (struct umad_agent){
		.qpn = req->qpn,
		.mgmt_class = req->mgmt_class,
		.version = req->mgmt_class_version,
		.rmpp_version = req->rmpp_version,
		.oui = (uint32_t)(req->oui[0] << 16 | req->oui[1] << 8 | req->oui[2]),
	};
	memcpy(out->methods, req->method_mask, sizeof(out->methods));
}

int umad_agent_from_req2(struct ib_user_mad_reg_req2 *req, struct umad_agent *out)
{
	if (req->flags & ~(uint32_t)IB_USER_MAD_REG_FLAGS_CAP) {
		req->flags = IB_USER_MAD_REG_FLAGS_CAP;
		return -EINVAL;
	}
	if (req->oui > OUI_MAX)
		return -EINVAL;
	*out = (struct umad_agent){
		.qpn = req->qpn,
		.mgmt_class = req->mgmt_class,
		.version = req->mgmt_class_version,
		.rmpp_version = req->rmpp_version,
		.oui = req->oui,
		.methods = { req->method_mask[0], req->method_mask[1] },
	};
	return 0;
}

static bool is_vendor2(uint8_t mgmt_class)
{
	return mgmt_class >= CLASS_VENDOR2 && mgmt_class <= CLASS_VENDOR2_END;
}

static bool is_smp(uint8_t mgmt_class)
{
	return mgmt_class == CLASS_SMP || mgmt_class == CLASS_SMP_DIRECTED;
}

static bool has_rmpp(uint8_t mgmt_class)
{
	return mgmt_class == CLASS_SA || mgmt_class == CLASS_DEVICE ||
	       mgmt_class == CLASS_DEVICE_ADM || mgmt_class == CLASS_BIS || is_vendor2(mgmt_class);
}

int umad_agent_check(const struct umad_agent *a, bool is_ethernet)
{
	if (a->qpn > 1 || a->rmpp_version > 1)
		return -EINVAL;
	if (a->mgmt_class) {
		if (a->version >= VERSION_END)
			return -EINVAL;
		if (a->mgmt_class >= CLASS_MOST && a->mgmt_class != CLASS_SMP_DIRECTED)
			return -EINVAL;
		if (is_vendor2(a->mgmt_class) && !a->oui)
			return -EINVAL;
		if (a->rmpp_version && !has_rmpp(a->mgmt_class))
			return -EINVAL;
		if (is_smp(a->mgmt_class) != !a->qpn)
			return -EINVAL;
	}
	/* RoCE has no queue pair 0. */
	return !a->qpn && is_ethernet ? -EPROTONOSUPPORT : 0;
}

bool umad_agents_overlap(const struct umad_agent *a, const struct umad_agent *b)
{
	return a->mgmt_class && a->mgmt_class == b->mgmt_class && a->version == b->version &&
	       (!is_vendor2(a->mgmt_class) || a->oui == b->oui) &&
	       (a->methods[0] & b->methods[0] || a->methods[1] & b->methods[1]);
}
