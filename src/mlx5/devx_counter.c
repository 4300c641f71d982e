/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Queue counters are sets that QPs count into (hca/device/counters.h); flow counters are fed by
 * flow rules.
 */
#include "mlx5/devx_counter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hca/raw/flow.h"
#include "mlx5/devx_cmd.h"
#include "mlx5/devx_obj.h"

#define NUMBERS       (1u << 20)
#define Q_COUNTERS    256u
#define COUNTERS_BULK 128u /* per bit of the request */

/* ---- of queues ---- */

int devx_alloc_q_counter(struct devx_cmd *c)
{
	int err;

	c->obj->q_counters = calloc(1, sizeof(*c->obj->q_counters));
	if (!c->obj->q_counters)
		return devx_refuse_errno(c, -ENOMEM, DEVX_WHY_MEMORY);
	atomic_init(&c->obj->q_counters->refs, 1);
	err = devx_refuse_errno(c, devx_number(c->obj, 1, Q_COUNTERS, 1), DEVX_WHY_OBJECT);
	if (!err)
		ifc_set(c->out, alloc_q_counter_out, counter_set_id, c->obj->number);
	return err;
}

int devx_counters_find(struct devx_cmd *c, uint32_t id, struct hca_counters **out)
{
	struct mlx5dv_devx_obj *obj = id ? devx_find(c->devx, DEVX_Q_COUNTER, id) : NULL;

	*out = obj ? obj->q_counters : NULL;
	if (obj || !id)
		return 0;
	return devx_refuse(c, IFC_STATUS_BAD_RES, DEVX_WHY_OBJECT,
			   "counter_set_id %u does not exist", id);
}

/* The counter of each status of an error completion. */
#define REQ(status)  (HCA_COUNT_REQ_STATUS + (status))
#define RESP(status) (HCA_COUNT_RESP_STATUS + (status))
#define AT(field)    IFC_BIT(query_q_counter_out, field)

static const struct {
	uint16_t count, bit;
} shown[] = {
	{ HCA_COUNT_RX_WRITE, AT(rx_write_requests) },
	{ HCA_COUNT_RX_READ, AT(rx_read_requests) },
	{ HCA_COUNT_RX_ATOMIC, AT(rx_atomic_requests) },
	{ HCA_COUNT_OUT_OF_BUFFER, AT(out_of_buffer) },
	{ HCA_COUNT_OUT_OF_SEQUENCE, AT(out_of_sequence) },
	{ HCA_COUNT_DUPLICATE, AT(duplicate_request) },
	{ HCA_COUNT_RNR_NAK, AT(rnr_nak_retry_err) },
	{ HCA_COUNT_SEQ_NAK, AT(packet_seq_err) },
	{ HCA_COUNT_ACK_TIMEOUT, AT(local_ack_timeout_err) },
	{ REQ(HCA_LOC_LEN_ERR), AT(req_local_length_error) },
	{ REQ(HCA_LOC_QP_OP_ERR), AT(local_operation_error) },
	{ REQ(HCA_LOC_PROT_ERR), AT(req_local_protection) },
	{ REQ(HCA_WR_FLUSH_ERR), AT(req_cqe_flush_error) },
	{ REQ(HCA_MW_BIND_ERR), AT(req_mw_binding) },
	{ REQ(HCA_BAD_RESP_ERR), AT(req_bad_response) },
	{ REQ(HCA_REM_INV_REQ_ERR), AT(req_remote_invalid_request) },
	{ REQ(HCA_REM_ACCESS_ERR), AT(req_remote_access_errors) },
	{ REQ(HCA_REM_OP_ERR), AT(req_remote_operation_errors) },
	{ REQ(HCA_RETRY_EXC_ERR), AT(req_transport_retries_exceeded) },
	{ RESP(HCA_LOC_LEN_ERR), AT(resp_local_length_error) },
	{ RESP(HCA_LOC_QP_OP_ERR), AT(resp_local_qp_error) },
	{ RESP(HCA_LOC_PROT_ERR), AT(resp_local_protection) },
	{ RESP(HCA_LOC_ACCESS_ERR), AT(resp_remote_access_errors) },
	{ RESP(HCA_REM_INV_REQ_ERR), AT(resp_remote_invalid_request) },
	{ RESP(HCA_WR_FLUSH_ERR), AT(resp_cqe_flush_error) },
};

int devx_query_q_counter(struct devx_cmd *c)
{
	struct hca_counters *set = c->obj->q_counters;
	uint32_t req = 0, resp = 0, n[HCA_COUNTS];
	bool clear = ifc_get(c->in, query_q_counter_in, clear);

	for (unsigned int i = 0; i < HCA_COUNTS; i++) {
		n[i] = clear ? atomic_exchange(&set->n[i], 0) : atomic_load(&set->n[i]);
		if (i >= RESP(0))
			resp += n[i];
		else if (i >= REQ(0))
			req += n[i];
	}
	for (size_t i = 0; i < array_size(shown); i++)
		ifc_store(c->out, shown[i].bit, 32, n[shown[i].count]);
	ifc_set(c->out, query_q_counter_out, req_cqe_error, req);
	ifc_set(c->out, query_q_counter_out, resp_cqe_error, resp);
	return 0;
}

/* ---- of flows ---- */

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

/* Packets and octets of each counter, from the named one on. */
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
				   "dump_to_memory is not offered, see the capabilities");
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
