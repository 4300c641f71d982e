/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Each message has one table of its fields, by which it is written and read. Places are those of
 * the tables in IBTA 1.4 12.6 and 12.11: bytes from the end of the MAD's header, bits from the most
 * significant one.
 */
#include "cm/msg.h"

#include <string.h>

#include "util/api.h"

enum {
	BASE_VERSION = 1,
	CLASS = 7,
	CLASS_VERSION = 2,
	METHOD_SEND = 3,
};

/* Bytes of the MAD's header, and where its fields are. */
enum {
	AT_BASE_VERSION = 0,
	AT_CLASS = 1,
	AT_CLASS_VERSION = 2,
	AT_METHOD = 3,
	AT_TID = 8,
	AT_ATTR_ID = 16,
	AT_ATTR_MOD = 20,
	HEADER = 24,
};

/*
 * A member of a message's struct, and its place in the MAD. Of an integer, bits `shift` and up are
 * there, `width` of them. An array of bytes has no width and is there whole.
 */
struct field {
	uint16_t member, size; /* offset and bytes in the struct */
	uint16_t bit;          /* its first one in the MAD */
	uint8_t width, shift;
};

#define IN_MAD(type, name, byte, bit, width, shift)                                                \
	{                                                                                          \
		offsetof(type, name), sizeof(((type *)0)->name), (byte)*8 + (bit), width, shift    \
	}
#define PART(type, name, byte, bit, width, shift)                                                  \
	IN_MAD(type, name, HEADER + (byte), bit, width, shift)
#define FIELD(type, name, byte, bit, width) PART(type, name, byte, bit, width, 0)
#define BYTES(type, name, byte)             PART(type, name, byte, 0, 0, 0)
#define ATTR_MOD(type)                      IN_MAD(type, attr_mod, AT_ATTR_MOD, 0, 32, 0)

/* A path of a REQ, from its first byte on. LAP orders the fields after the GIDs differently. */
#define PATH_FIELD(name, byte, bit, width) IN_MAD(struct msg_path, name, byte, bit, width, 0)

static const struct field req_path_fields[] = {
	PATH_FIELD(local_lid, 0, 0, 16),
	PATH_FIELD(remote_lid, 2, 0, 16),
	PATH_FIELD(local_gid, 4, 0, 0),
	PATH_FIELD(remote_gid, 20, 0, 0),
	PATH_FIELD(flow_label, 36, 0, 20),
	PATH_FIELD(packet_rate, 39, 2, 6),
	PATH_FIELD(traffic_class, 40, 0, 8),
	PATH_FIELD(hop_limit, 41, 0, 8),
	PATH_FIELD(sl, 42, 0, 4),
	PATH_FIELD(is_subnet_local, 42, 4, 1),
	PATH_FIELD(local_ack_timeout, 43, 0, 5),
};

enum {
	AT_REQ_PRIMARY = HEADER + 52,
	AT_REQ_ALTERNATE = HEADER + 96,
};

static const struct field req_fields[] = {
	ATTR_MOD(struct msg_req),
	FIELD(struct msg_req, local_comm_id, 0, 0, 32),
	FIELD(struct msg_req, vendor_id, 5, 0, 24),
	FIELD(struct msg_req, service_id, 8, 0, 64),
	FIELD(struct msg_req, local_ca_guid, 16, 0, 64),
	FIELD(struct msg_req, local_qkey, 28, 0, 32),
	FIELD(struct msg_req, local_qpn, 32, 0, 24),
	FIELD(struct msg_req, responder_resources, 35, 0, 8),
	FIELD(struct msg_req, initiator_depth, 39, 0, 8),
	FIELD(struct msg_req, remote_cm_timeout, 43, 0, 5),
	FIELD(struct msg_req, transport, 43, 5, 2),
	FIELD(struct msg_req, flow_control, 43, 7, 1),
	FIELD(struct msg_req, starting_psn, 44, 0, 24),
	FIELD(struct msg_req, local_cm_timeout, 47, 0, 5),
	FIELD(struct msg_req, retry_count, 47, 5, 3),
	FIELD(struct msg_req, pkey, 48, 0, 16),
	FIELD(struct msg_req, path_mtu, 50, 0, 4),
	FIELD(struct msg_req, rdc_exists, 50, 4, 1),
	FIELD(struct msg_req, rnr_retry_count, 50, 5, 3),
	FIELD(struct msg_req, max_cm_retries, 51, 0, 4),
	FIELD(struct msg_req, srq, 51, 4, 1),
	FIELD(struct msg_req, extended_transport, 51, 5, 3),
	BYTES(struct msg_req, private_data, 140),
};

static const struct field rep_fields[] = {
	ATTR_MOD(struct msg_rep),
	FIELD(struct msg_rep, local_comm_id, 0, 0, 32),
	FIELD(struct msg_rep, remote_comm_id, 4, 0, 32),
	FIELD(struct msg_rep, local_qkey, 8, 0, 32),
	FIELD(struct msg_rep, local_qpn, 12, 0, 24),
	PART(struct msg_rep, vendor_id, 15, 0, 8, 16),
	FIELD(struct msg_rep, local_eecn, 16, 0, 24),
	PART(struct msg_rep, vendor_id, 19, 0, 8, 8),
	FIELD(struct msg_rep, starting_psn, 20, 0, 24),
	PART(struct msg_rep, vendor_id, 23, 0, 8, 0),
	FIELD(struct msg_rep, responder_resources, 24, 0, 8),
	FIELD(struct msg_rep, initiator_depth, 25, 0, 8),
	FIELD(struct msg_rep, target_ack_delay, 26, 0, 5),
	FIELD(struct msg_rep, failover_accepted, 26, 5, 2),
	FIELD(struct msg_rep, flow_control, 26, 7, 1),
	FIELD(struct msg_rep, rnr_retry_count, 27, 0, 3),
	FIELD(struct msg_rep, srq, 27, 3, 1),
	FIELD(struct msg_rep, local_ca_guid, 28, 0, 64),
	BYTES(struct msg_rep, private_data, 36),
};

static const struct field rtu_fields[] = {
	FIELD(struct msg_rtu, local_comm_id, 0, 0, 32),
	FIELD(struct msg_rtu, remote_comm_id, 4, 0, 32),
	BYTES(struct msg_rtu, private_data, 8),
};

static const struct field mra_fields[] = {
	FIELD(struct msg_mra, local_comm_id, 0, 0, 32),
	FIELD(struct msg_mra, remote_comm_id, 4, 0, 32),
	FIELD(struct msg_mra, answered, 8, 0, 2),
	FIELD(struct msg_mra, service_timeout, 9, 0, 5),
	BYTES(struct msg_mra, private_data, 10),
};

static const struct field rej_fields[] = {
	FIELD(struct msg_rej, local_comm_id, 0, 0, 32),
	FIELD(struct msg_rej, remote_comm_id, 4, 0, 32),
	FIELD(struct msg_rej, answered, 8, 0, 2),
	FIELD(struct msg_rej, info_len, 9, 0, 7),
	FIELD(struct msg_rej, reason, 10, 0, 16),
	BYTES(struct msg_rej, info, 12),
	BYTES(struct msg_rej, private_data, 84),
};

static const struct field dreq_fields[] = {
	FIELD(struct msg_dreq, local_comm_id, 0, 0, 32),
	FIELD(struct msg_dreq, remote_comm_id, 4, 0, 32),
	FIELD(struct msg_dreq, remote_qpn, 8, 0, 24),
	BYTES(struct msg_dreq, private_data, 12),
};

static const struct field lap_fields[] = {
	FIELD(struct msg_lap, local_comm_id, 0, 0, 32),
	FIELD(struct msg_lap, remote_comm_id, 4, 0, 32),
	FIELD(struct msg_lap, remote_qpn, 12, 0, 24),
	FIELD(struct msg_lap, remote_cm_timeout, 15, 0, 5),
	FIELD(struct msg_lap, alternate.local_lid, 20, 0, 16),
	FIELD(struct msg_lap, alternate.remote_lid, 22, 0, 16),
	BYTES(struct msg_lap, alternate.local_gid, 24),
	BYTES(struct msg_lap, alternate.remote_gid, 40),
	FIELD(struct msg_lap, alternate.flow_label, 56, 0, 20),
	FIELD(struct msg_lap, alternate.traffic_class, 59, 0, 8),
	FIELD(struct msg_lap, alternate.hop_limit, 60, 0, 8),
	FIELD(struct msg_lap, alternate.packet_rate, 61, 2, 6),
	FIELD(struct msg_lap, alternate.sl, 62, 0, 4),
	FIELD(struct msg_lap, alternate.is_subnet_local, 62, 4, 1),
	FIELD(struct msg_lap, alternate.local_ack_timeout, 63, 0, 5),
	BYTES(struct msg_lap, private_data, 64),
};

static const struct field apr_fields[] = {
	FIELD(struct msg_apr, local_comm_id, 0, 0, 32),
	FIELD(struct msg_apr, remote_comm_id, 4, 0, 32),
	FIELD(struct msg_apr, info_len, 8, 0, 8),
	FIELD(struct msg_apr, status, 9, 0, 8),
	BYTES(struct msg_apr, info, 12),
	BYTES(struct msg_apr, private_data, 84),
};

static const struct field sidr_req_fields[] = {
	FIELD(struct msg_sidr_req, request_id, 0, 0, 32),
	FIELD(struct msg_sidr_req, pkey, 4, 0, 16),
	FIELD(struct msg_sidr_req, service_id, 8, 0, 64),
	BYTES(struct msg_sidr_req, private_data, 16),
};

static const struct field sidr_rep_fields[] = {
	ATTR_MOD(struct msg_sidr_rep),
	FIELD(struct msg_sidr_rep, request_id, 0, 0, 32),
	FIELD(struct msg_sidr_rep, status, 4, 0, 8),
	FIELD(struct msg_sidr_rep, info_len, 5, 0, 8),
	PART(struct msg_sidr_rep, vendor_id, 6, 0, 16, 8),
	FIELD(struct msg_sidr_rep, qpn, 8, 0, 24),
	PART(struct msg_sidr_rep, vendor_id, 11, 0, 8, 0),
	FIELD(struct msg_sidr_rep, service_id, 12, 0, 64),
	FIELD(struct msg_sidr_rep, qkey, 20, 0, 32),
	BYTES(struct msg_sidr_rep, info, 24),
	BYTES(struct msg_sidr_rep, private_data, 96),
};

static void put_bits(uint8_t *mad, unsigned bit, unsigned width, uint64_t value)
{
	while (width--) {
		if (value >> width & 1)
			mad[bit / 8] |= 0x80 >> bit % 8;
		bit++;
	}
}

static uint64_t get_bits(const uint8_t *mad, unsigned bit, unsigned width)
{
	uint64_t value = 0;

	while (width--) {
		value = value << 1 | (mad[bit / 8] >> (7 - bit % 8) & 1);
		bit++;
	}
	return value;
}

static uint64_t load(const void *member, size_t size)
{
	switch (size) {
	case 1:
		return *(const uint8_t *)member;
	case 2:
		return *(const uint16_t *)member;
	case 4:
		return *(const uint32_t *)member;
	default:
		return *(const uint64_t *)member;
	}
}

static void store(void *member, size_t size, uint64_t value)
{
	switch (size) {
	case 1:
		*(uint8_t *)member = value;
		break;
	case 2:
		*(uint16_t *)member = value;
		break;
	case 4:
		*(uint32_t *)member = value;
		break;
	default:
		*(uint64_t *)member = value;
	}
}

static void put_header(uint8_t *mad, enum msg_kind kind, uint64_t tid)
{
	mad[AT_BASE_VERSION] = BASE_VERSION;
	mad[AT_CLASS] = CLASS;
	mad[AT_CLASS_VERSION] = CLASS_VERSION;
	mad[AT_METHOD] = METHOD_SEND;
	put_bits(mad, AT_TID * 8, 64, tid);
	put_bits(mad, AT_ATTR_ID * 8, 16, kind);
}

static void put_fields(uint8_t *mad, const void *m, const struct field *fields, size_t count)
{
	for (const struct field *f = fields; f < fields + count; f++) {
		const uint8_t *member = (const uint8_t *)m + f->member;

		if (f->width)
			put_bits(mad, f->bit, f->width, load(member, f->size) >> f->shift);
		else
			memcpy(mad + f->bit / 8, member, f->size);
	}
}

static void put(uint8_t *mad, enum msg_kind kind, uint64_t tid, const void *m,
		const struct field *fields, size_t count)
{
	memset(mad, 0, MSG_BYTES);
	put_header(mad, kind, tid);
	put_fields(mad, m, fields, count);
}

static void get_fields(const uint8_t *mad, void *m, const struct field *fields, size_t count)
{
	for (const struct field *f = fields; f < fields + count; f++) {
		uint8_t *member = (uint8_t *)m + f->member;

		if (f->width)
			store(member, f->size,
			      load(member, f->size) | get_bits(mad, f->bit, f->width) << f->shift);
		else
			memcpy(member, mad + f->bit / 8, f->size);
	}
}

static void get(const uint8_t *mad, void *m, size_t size, const struct field *fields, size_t count)
{
	memset(m, 0, size);
	get_fields(mad, m, fields, count);
}

#define PUT(mad, kind, tid, m, fields) put(mad, kind, tid, m, fields, array_size(fields))
#define GET(mad, m, fields)            get(mad, m, sizeof(*(m)), fields, array_size(fields))

/* The sender may claim more additional information than there is room for. */
static void limit_info(uint8_t *info_len)
{
	if (*info_len > MSG_REJ_INFO)
		*info_len = MSG_REJ_INFO;
}

bool msg_get_head(const uint8_t mad[MSG_BYTES], struct msg_head *out)
{
	if (mad[AT_BASE_VERSION] != BASE_VERSION || mad[AT_CLASS] != CLASS ||
	    mad[AT_CLASS_VERSION] != CLASS_VERSION || mad[AT_METHOD] != METHOD_SEND)
		return false;
	out->kind = get_bits(mad, AT_ATTR_ID * 8, 16);
	out->tid = get_bits(mad, AT_TID * 8, 64);
	return true;
}

void msg_put_req(const struct msg_req *m, uint64_t tid, uint8_t mad[MSG_BYTES])
{
	PUT(mad, MSG_REQ, tid, m, req_fields);
	put_fields(mad + AT_REQ_PRIMARY, &m->primary, req_path_fields, array_size(req_path_fields));
	put_fields(mad + AT_REQ_ALTERNATE, &m->alternate, req_path_fields,
		   array_size(req_path_fields));
}

void msg_put_rep(const struct msg_rep *m, uint64_t tid, uint8_t mad[MSG_BYTES])
{
	PUT(mad, MSG_REP, tid, m, rep_fields);
}

void msg_put_rtu(const struct msg_rtu *m, enum msg_kind kind, uint64_t tid, uint8_t mad[MSG_BYTES])
{
	PUT(mad, kind, tid, m, rtu_fields);
}

void msg_put_mra(const struct msg_mra *m, uint64_t tid, uint8_t mad[MSG_BYTES])
{
	PUT(mad, MSG_MRA, tid, m, mra_fields);
}

void msg_put_rej(const struct msg_rej *m, uint64_t tid, uint8_t mad[MSG_BYTES])
{
	PUT(mad, MSG_REJ, tid, m, rej_fields);
}

void msg_put_dreq(const struct msg_dreq *m, uint64_t tid, uint8_t mad[MSG_BYTES])
{
	PUT(mad, MSG_DREQ, tid, m, dreq_fields);
}

void msg_put_lap(const struct msg_lap *m, uint64_t tid, uint8_t mad[MSG_BYTES])
{
	PUT(mad, MSG_LAP, tid, m, lap_fields);
}

void msg_put_apr(const struct msg_apr *m, uint64_t tid, uint8_t mad[MSG_BYTES])
{
	PUT(mad, MSG_APR, tid, m, apr_fields);
}

void msg_put_sidr_req(const struct msg_sidr_req *m, uint64_t tid, uint8_t mad[MSG_BYTES])
{
	PUT(mad, MSG_SIDR_REQ, tid, m, sidr_req_fields);
}

void msg_put_sidr_rep(const struct msg_sidr_rep *m, uint64_t tid, uint8_t mad[MSG_BYTES])
{
	PUT(mad, MSG_SIDR_REP, tid, m, sidr_rep_fields);
}

void msg_get_req(const uint8_t mad[MSG_BYTES], struct msg_req *m)
{
	GET(mad, m, req_fields);
	get_fields(mad + AT_REQ_PRIMARY, &m->primary, req_path_fields, array_size(req_path_fields));
	get_fields(mad + AT_REQ_ALTERNATE, &m->alternate, req_path_fields,
		   array_size(req_path_fields));
}

void msg_get_rep(const uint8_t mad[MSG_BYTES], struct msg_rep *m)
{
	GET(mad, m, rep_fields);
}

void msg_get_rtu(const uint8_t mad[MSG_BYTES], struct msg_rtu *m)
{
	GET(mad, m, rtu_fields);
}

void msg_get_mra(const uint8_t mad[MSG_BYTES], struct msg_mra *m)
{
	GET(mad, m, mra_fields);
}

void msg_get_rej(const uint8_t mad[MSG_BYTES], struct msg_rej *m)
{
	GET(mad, m, rej_fields);
	limit_info(&m->info_len);
}

void msg_get_dreq(const uint8_t mad[MSG_BYTES], struct msg_dreq *m)
{
	GET(mad, m, dreq_fields);
}

void msg_get_lap(const uint8_t mad[MSG_BYTES], struct msg_lap *m)
{
	GET(mad, m, lap_fields);
}

void msg_get_apr(const uint8_t mad[MSG_BYTES], struct msg_apr *m)
{
	GET(mad, m, apr_fields);
	limit_info(&m->info_len);
}

void msg_get_sidr_req(const uint8_t mad[MSG_BYTES], struct msg_sidr_req *m)
{
	GET(mad, m, sidr_req_fields);
}

void msg_get_sidr_rep(const uint8_t mad[MSG_BYTES], struct msg_sidr_rep *m)
{
	GET(mad, m, sidr_rep_fields);
	limit_info(&m->info_len);
}
