/* SPDX-License-Identifier: BSD-2-Clause */
#include "sa.h"

#include <string.h>
#include <sys/random.h>

#include "hca/device/lid.h"

/* Of a MAD of this class: status, and from 36 on the header of 15.2.1.1; records begin at DATA. */
enum {
	CLASS_VERSION = 2,
	STATUS = 4,
	ATTR_OFFSET = 44, /* length of a record in units of 8 bytes */
	MASK = 48,
	DATA = 56,
};

enum {
	METHOD_GET = 0x01,
	METHOD_SET = 0x02,
	METHOD_DELETE = 0x15,
};

enum {
	ATTR_CLASS_PORT_INFO = 0x01,
	ATTR_PATH = 0x35,
	ATTR_MCMEMBER = 0x38,
};

enum {
	OK = 0,
	BAD_VERSION = 0x0004,
	BAD_METHOD_OR_ATTR = 0x000c,
	REQ_INVALID = 0x0200,
	NO_RECORDS = 0x0300,
	INVALID_GID = 0x0500,
	INSUFFICIENT = 0x0600,
};

/* Offsets in an MCMemberRecord, and the components that matter here. */
enum {
	MC_PORT_GID = 16,
	MC_QKEY = 32,
	MC_MLID = 36,
	MC_MTU = 38,
	MC_PKEY = 40,
	MC_RATE = 42,
	MC_SCOPE_STATE = 48,
	MC_HAS_MGID = 1 << 0,
	MC_HAS_PORT_GID = 1 << 1,
	MC_HAS_QKEY = 1 << 2,
	MC_HAS_PKEY = 1 << 7,
	MC_HAS_STATE = 1 << 16,
};

/* Offsets and components of a PathRecord. */
enum {
	PATH_DGID = 8,
	PATH_SGID = 24,
	PATH_DLID = 40,
	PATH_SLID = 42,
	PATH_REVERSIBLE = 49,
	PATH_PKEY = 50,
	PATH_MTU = 54,
	PATH_RATE = 55,
	PATH_HAS_DGID = 1 << 2,
	PATH_HAS_SGID = 1 << 3,
	PATH_HAS_DLID = 1 << 4,
	PATH_HAS_SLID = 1 << 5,
	PATH_HAS_PKEY = 1 << 13,
};

#define EXACTLY       (2 << 6) /* selector of MTU, rate and lifetime */
#define PKEY_DEFAULT  0xffff
#define QKEY_DEFAULT  0x0b1b
#define JOIN_STATES   0x0f
#define BASE_VERSION  1
#define SA_VERSION    2
#define RESPONSE_TIME 18 /* 4.096 us << 18: a second */

static void put16(uint8_t *p, uint16_t value)
{
	p[0] = (uint8_t)(value >> 8);
	p[1] = (uint8_t)value;
}

static void put32(uint8_t *p, uint32_t value)
{
	put16(p, (uint16_t)(value >> 16));
	put16(p + 2, (uint16_t)value);
}

static bool has_gid(const struct sa_port *p, const uint8_t *gid)
{
	for (size_t i = 0; i < p->gid_count; i++)
		if (!memcmp(p->gid[i], gid, 16))
			return true;
	return false;
}

static uint16_t answer_class_port_info(uint8_t *mad)
{
	uint8_t *info = mad + DATA;

	if (mad[MAD_METHOD] != METHOD_GET)
		return BAD_METHOD_OR_ATTR;
	memset(info, 0, HCA_MAD_BYTES - DATA);
	info[0] = BASE_VERSION;
	info[1] = SA_VERSION;
	info[7] = RESPONSE_TIME;
	return OK;
}

/* A group without a name gets one: of the local scope, below the subnet's prefix. */
static void name_group(uint8_t *mgid)
{
	static const uint8_t prefix[] = { 0xff, 0x12, 0xa0, 0x1b, 0xfe, 0x80 };

	memset(mgid, 0, 16);
	memcpy(mgid, prefix, sizeof(prefix));
	if (getrandom(mgid + 12, 4, 0) != 4)
		mgid[15] = 1;
}

static uint16_t check_join(const struct sa_port *from, const uint8_t *mad, uint64_t mask)
{
	static const uint8_t none[16];
	const uint8_t *rec = mad + DATA;

	if (mad[MAD_METHOD] != METHOD_GET) {
		if (!(mask & MC_HAS_PORT_GID) || !(mask & MC_HAS_STATE))
			return INSUFFICIENT;
		if (!has_gid(from, rec + MC_PORT_GID))
			return INVALID_GID;
		if (!(rec[MC_SCOPE_STATE] & JOIN_STATES))
			return REQ_INVALID;
		if (mad[MAD_METHOD] == METHOD_SET && !memcmp(rec, none, 16))
			return OK;
	}
	if (!(mask & MC_HAS_MGID))
		return INSUFFICIENT;
	return rec[0] == 0xff ? OK : REQ_INVALID;
}

static uint16_t answer_mcmember(const struct sa_port *from, uint8_t *mad)
{
	uint64_t mask = mad_get64(mad + MASK);
	uint8_t *rec = mad + DATA;
	uint16_t status;

	if (mad[MAD_METHOD] != METHOD_GET && mad[MAD_METHOD] != METHOD_SET &&
	    mad[MAD_METHOD] != METHOD_DELETE)
		return BAD_METHOD_OR_ATTR;
	status = check_join(from, mad, mask);
	if (status)
		return status;
	if (rec[0] != 0xff)
		name_group(rec);
	if (!(mask & MC_HAS_QKEY))
		put32(rec + MC_QKEY, QKEY_DEFAULT);
	if (!(mask & MC_HAS_PKEY))
		put16(rec + MC_PKEY, PKEY_DEFAULT);
	put16(rec + MC_MLID, hca_mlid_of(rec));
	rec[MC_MTU] = EXACTLY | from->mtu;
	rec[MC_RATE] = EXACTLY | from->rate;
	put16(mad + ATTR_OFFSET, 56 / 8);
	return OK;
}

/* The port that the components of one end name; NULL: none, or they contradict each other. */
static const struct sa_port *find_end(const struct sa_subnet *s, const uint8_t *gid,
				      const uint8_t *lid)
{
	for (size_t i = 0; i < s->count; i++) {
		const struct sa_port *p = &s->ports[i];

		if (p->lid && (!gid || has_gid(p, gid)) && (!lid || mad_get16(lid) == p->lid))
			return p;
	}
	return NULL;
}

static uint16_t answer_path(const struct sa_subnet *s, uint8_t *mad)
{
	const struct sa_port *from, *to;
	uint64_t mask = mad_get64(mad + MASK);
	uint8_t *rec = mad + DATA;

	if (mad[MAD_METHOD] != METHOD_GET)
		return BAD_METHOD_OR_ATTR;
	if (!(mask & (PATH_HAS_SGID | PATH_HAS_SLID)) || !(mask & (PATH_HAS_DGID | PATH_HAS_DLID)))
		return INSUFFICIENT;
	from = find_end(s, mask & PATH_HAS_SGID ? rec + PATH_SGID : NULL,
			mask & PATH_HAS_SLID ? rec + PATH_SLID : NULL);
	to = find_end(s, mask & PATH_HAS_DGID ? rec + PATH_DGID : NULL,
		      mask & PATH_HAS_DLID ? rec + PATH_DLID : NULL);
	if (!from || !to)
		return NO_RECORDS;
	if (!(mask & PATH_HAS_SGID))
		memcpy(rec + PATH_SGID, from->gid[0], 16);
	if (!(mask & PATH_HAS_DGID))
		memcpy(rec + PATH_DGID, to->gid[0], 16);
	if (!(mask & PATH_HAS_PKEY))
		put16(rec + PATH_PKEY, PKEY_DEFAULT);
	put16(rec + PATH_SLID, from->lid);
	put16(rec + PATH_DLID, to->lid);
	rec[PATH_REVERSIBLE] = 0x80 | 1;
	rec[PATH_MTU] = EXACTLY | (from->mtu < to->mtu ? from->mtu : to->mtu);
	rec[PATH_RATE] = EXACTLY | (from->rate < to->rate ? from->rate : to->rate);
	put16(mad + ATTR_OFFSET, 64 / 8);
	return OK;
}

static uint16_t answer(const struct sa_subnet *s, const struct sa_port *from, uint8_t *mad)
{
	if (mad[MAD_BASE_VERSION] != BASE_VERSION || mad[CLASS_VERSION] != SA_VERSION)
		return BAD_VERSION;
	switch (mad_get16(mad + MAD_ATTR)) {
	case ATTR_CLASS_PORT_INFO:
		return answer_class_port_info(mad);
	case ATTR_MCMEMBER:
		return answer_mcmember(from, mad);
	case ATTR_PATH:
		return answer_path(s, mad);
	default:
		return BAD_METHOD_OR_ATTR;
	}
}

bool sa_answer(const struct sa_subnet *s, const struct sa_port *from, uint8_t mad[HCA_MAD_BYTES])
{
	if (mad[MAD_METHOD] & MAD_METHOD_RESPONSE)
		return false;
	put16(mad + STATUS, answer(s, from, mad));
	/* GetResp answers Set as well (15.2.2). */
	mad[MAD_METHOD] = MAD_METHOD_RESPONSE |
			  (mad[MAD_METHOD] == METHOD_SET ? METHOD_GET : mad[MAD_METHOD]);
	return true;
}
