/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Objects that are little more than their number: transport domains, counters, steering objects
 * that the mailbox layer keeps, and general objects.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "mlx5/devx.h"

#define NUMBERS       (1u << 20)
#define Q_COUNTERS    256u
#define COUNTERS_BULK 128u /* per bit of the request */

/* Types of general objects that the device has; a program reads them in general_obj_types. */
#define GENERAL_TYPES (1ull << IFC_OBJ_GENEVE_TLV_OPT | 1ull << IFC_OBJ_MATCH_DEFINER)

uint64_t devx_general_types(void)
{
	return GENERAL_TYPES;
}

/* The whole command is kept, for a query to answer from. */
int devx_alloc_number(struct devx_cmd *c)
{
	int err = devx_keep(c, c->in, c->inlen);

	if (!err)
		err = devx_refuse_errno(c, devx_number(c->obj, 1, NUMBERS, 1), DEVX_WHY_OBJECT);
	if (!err)
		ifc_set(c->out, obj_out, number, c->obj->number);
	return err;
}

/* ---- counters ---- */

int devx_alloc_q_counter(struct devx_cmd *c)
{
	int err = devx_refuse_errno(c, devx_number(c->obj, 1, Q_COUNTERS, 1), DEVX_WHY_OBJECT);

	if (!err)
		ifc_set(c->out, alloc_q_counter_out, counter_set_id, c->obj->number);
	return err;
}

/* Queues do not count into sets: a set of nothing has counted nothing. */
int devx_query_q_counter(struct devx_cmd *c)
{
	(void)c;
	return 0;
}

static uint32_t bulk(const struct devx_cmd *c)
{
	unsigned int log = ifc_get(c->in, alloc_flow_counter_in, flow_counter_bulk_log_size);
	unsigned int bits = ifc_get(c->in, alloc_flow_counter_in, flow_counter_bulk);

	if (log)
		return log < 16 ? 1u << log : 0;
	return bits ? bits * COUNTERS_BULK : 1;
}

int devx_alloc_flow_counter(struct devx_cmd *c)
{
	uint32_t count = bulk(c);
	int err;

	if (!count)
		return devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_SIZE,
				   "more than 2^15 counters at once");
	c->obj->counters = flow_counter_create(count);
	if (!c->obj->counters)
		return devx_refuse_errno(c, -ENOMEM, DEVX_WHY_MEMORY);
	err = devx_refuse_errno(c, devx_number(c->obj, 1, NUMBERS, count), DEVX_WHY_OBJECT);
	if (!err)
		ifc_set(c->out, alloc_flow_counter_out, flow_counter_id, c->obj->number);
	return err;
}

/* Pairs of packets and octets from the named counter on. */
int devx_query_flow_counter(struct devx_cmd *c)
{
	uint32_t id = ifc_get(c->in, query_flow_counter_in, flow_counter_id);
	uint32_t count = ifc_get(c->in, query_flow_counter_in, num_of_counters) ?: 1;
	uint32_t first = id - c->obj->number;
	size_t room = (c->outlen - ifc_len(query_flow_counter_out)) / ifc_len(traffic_counter);
	bool clear = ifc_get(c->in, query_flow_counter_in, clear);
	uint8_t *at = c->out + ifc_len(query_flow_counter_out);

	if (ifc_get(c->in, query_flow_counter_in, dump_to_memory))
		return devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_OFFERED,
				   "dump_to_memory is not offered; the capabilities say so");
	if (count > c->obj->count - first)
		return devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_INDEX,
				   "%u counters from %u on; the object has %u", count, first,
				   c->obj->count);
	for (uint32_t i = 0; i < count && i < room; i++, at += ifc_len(traffic_counter)) {
		struct flow_counter *counter = &c->obj->counters[first + i];
		uint64_t packets, octets;

		flow_counter_read(counter, &packets, &octets);
		ifc_set(at, traffic_counter, packets, packets);
		ifc_set(at, traffic_counter, octets, octets);
		if (clear)
			flow_counter_clear(counter);
	}
	return 0;
}

/* ---- general objects ---- */

int devx_create_general(struct devx_cmd *c)
{
	unsigned int type = ifc_get(c->in, general_obj_in_cmd_hdr, obj_type);
	unsigned int range = ifc_get(c->in, general_obj_in_cmd_hdr, log_obj_range);
	int err;

	if (type >= 64 || !(GENERAL_TYPES & 1ull << type))
		return devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_TYPE,
				   "objects of type 0x%x; general_obj_types has 0x%llx", type,
				   (unsigned long long)GENERAL_TYPES);
	if (range > 12)
		return devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_SIZE,
				   "log_obj_range %u; at most 12", range);
	c->obj->type = type;
	err = devx_keep(c, c->in, c->inlen);
	if (!err)
		err = devx_refuse_errno(c, devx_number(c->obj, 1, NUMBERS, 1u << range),
					DEVX_WHY_OBJECT);
	if (!err)
		ifc_set(c->out, general_obj_out_cmd_hdr, obj_id, c->obj->number);
	return err;
}

static void copy_body(uint8_t *to, size_t room, const uint8_t *from, size_t len)
{
	const size_t head = ifc_len(general_obj_in_cmd_hdr);
	size_t n = len < room ? len : room;

	if (n > head)
		memcpy(to + head, from + head, n - head);
}

int devx_query_general(struct devx_cmd *c)
{
	copy_body(c->out, c->outlen, c->obj->image, c->obj->image_len);
	ifc_set(c->out, general_obj_out_cmd_hdr, obj_id,
		ifc_get(c->in, general_obj_in_cmd_hdr, obj_id));
	return 0;
}

int devx_modify_general(struct devx_cmd *c)
{
	copy_body(c->obj->image, c->obj->image_len, c->in, c->inlen);
	return 0;
}
