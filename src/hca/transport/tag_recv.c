/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tag matching: a message begins with a header (TMH) that has a kind and a tag. An eager message that matches a
 * tagged buffer is put into it, without the header. A rendezvous request (RNDV) has a second header (RVH) that says
 * where the data is: when it matches, the adapter reads the data and sends a FIN (tag_sq.c). All other messages go
 * whole into entries that the program has posted as usual.
 *
 * A message longer than one packet has two completions, of the match and of the data; so has a rendezvous.
 */
#include "hca/transport/tag_recv.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "hca/queue/srq.h"
#include "hca/transport/recv.h"
#include "hca/transport/tag_sq.h"

/* Kinds of messages, the first byte of the header. */
enum { KIND_NO_TAG, KIND_RNDV, KIND_FIN, KIND_EAGER };

#define TMH_BYTES  HCA_TM_HEADER_BYTES
#define TMH_TAG    8u
#define RVH_VA     16u
#define RVH_RKEY   24u
#define RVH_LEN    28u
#define BOTH_BYTES 32u

_Static_assert(sizeof(((struct resp_tag *)0)->header) == BOTH_BYTES, "both headers are kept");
_Static_assert(TAG_FIN_BYTES == BOTH_BYTES, "a FIN repeats both headers");

static uint64_t get64(const uint8_t *at)
{
	uint64_t v;

	memcpy(&v, at, sizeof(v));
	return be64toh(v);
}

static uint32_t get32(const uint8_t *at)
{
	uint32_t v;

	memcpy(&v, at, sizeof(v));
	return be32toh(v);
}

static enum hca_srq_message classify(const struct qp *qp, const uint8_t *header, uint32_t len,
				     bool only)
{
	if (len < TMH_BYTES || (header[0] != KIND_EAGER && header[0] != KIND_RNDV))
		return HCA_SRQ_UNTAGGED;
	if (header[0] == KIND_EAGER)
		return HCA_SRQ_TAGGED;
	/* Data is read through a queue pair whose send queue is the adapter's. */
	return len >= BOTH_BYTES && only && qp->tag_sq && qp->pub.state == HCA_QPS_RTS
		       ? HCA_SRQ_TAGGED
		       : HCA_SRQ_UNMATCHED;
}

static void complete(struct qp *qp, uint8_t what, struct hca_cqe *cqe)
{
	const struct responder *r = &qp->resp;
	struct hca_tm_info info = { .what = what, .index = r->tag.index };

	if (recv_is_tagged(r) && what != HCA_TM_EXPECTED)
		memcpy(info.header, r->tag.header, sizeof(info.header));
	cqe->tm = &info;
	recv_complete(qp, cqe);
}

/* How the message completes, now that it has a tagged buffer. */
static void begin_matched(struct qp *qp, bool only)
{
	struct responder *r = &qp->resp;
	struct resp_tag *tag = &r->tag;
	uint32_t room = r->recv->sge_count ? r->recv->sge[0].len : 0;
	struct hca_cqe cqe = { 0 };

	tag->reads = tag->header[0] == KIND_RNDV && get32(tag->header + RVH_LEN) <= room;
	if (tag->reads) {
		tag->what = HCA_TM_CONSUMED;
	} else if (tag->header[0] == KIND_RNDV) {
		tag->what = HCA_TM_CONSUMED_MSG_SW_RNDV;
	} else if (only) {
		tag->what = HCA_TM_CONSUMED_MSG;
	} else {
		tag->what = HCA_TM_EXPECTED;
		complete(qp, HCA_TM_CONSUMED, &cqe);
	}
}

enum fault tag_recv_begin(struct qp *qp, const struct roce_pkt *pkt, const struct hca_list *payload,
			  bool only)
{
	uint32_t len = pkt->len < BOTH_BYTES ? pkt->len : BOTH_BYTES;
	struct responder *r = &qp->resp;
	struct hca_srq *srq = qp->pub.srq;
	uint8_t header[BOTH_BYTES] = { KIND_NO_TAG };
	enum hca_srq_message kind;
	bool matched, taken;

	if (r->has_recv)
		return FAULT_NONE; /* taken by an attempt whose references could not be fetched */
	if (!hca_mem_copy_out(payload, 0, header, len))
		return pkt->flags & ROCE_PKT_BY_REF ? FAULT_FETCH : FAULT_LOCAL;
	if (!r->recv)
		r->recv = malloc(sizeof(*r->recv));
	if (!r->recv)
		return FAULT_WAIT;
	kind = classify(qp, header, len, only);
	matched = hca_srq_take_tagged(srq, kind, get64(header + TMH_TAG), r->recv, &r->tag.index,
				      &taken);
	if (!taken)
		return FAULT_WAIT;
	r->recv_srq = srq;
	r->recv_srqn = srq->srqn;
	r->recv_srq_serial = srq->serial;
	memcpy(r->tag.header, header, sizeof(header));
	r->tag.reads = false;
	if (matched)
		begin_matched(qp, only);
	else
		r->tag.what = kind == HCA_SRQ_UNTAGGED ? HCA_TM_NO_TAG : HCA_TM_UNEXPECTED;
	r->has_recv = true;
	return FAULT_NONE;
}

enum fault tag_recv_place(struct qp *qp, const struct roce_pkt *pkt, const struct hca_list *payload,
			  bool first, enum hca_status *status)
{
	struct responder *r = &qp->resp;
	bool stripped = first && recv_is_tagged(r) && r->tag.what != HCA_TM_CONSUMED_MSG_SW_RNDV;
	uint32_t skip = stripped ? TMH_BYTES : 0, len = pkt->len - skip;
	struct hca_list to;

	/* Shorter than at the first attempt, which took the receive entry. */
	if (pkt->len < skip)
		return FAULT_INVALID;
	if (r->tag.reads)
		return FAULT_NONE;
	if (!hca_mem_resolve_first(r->recv->sge, r->recv->sge_count, r->recv_srq->pd->pdn,
				   HCA_ACCESS_LOCAL_WRITE, r->offset + len, &to)) {
		*status = HCA_LOC_PROT_ERR;
		return FAULT_LOCAL;
	}
	if (r->offset + len > to.total) {
		*status = HCA_LOC_LEN_ERR;
		return FAULT_INVALID;
	}
	if (!hca_mem_copy(&to, r->offset, payload, skip, len)) {
		*status = HCA_LOC_PROT_ERR;
		return pkt->flags & ROCE_PKT_BY_REF ? FAULT_FETCH : FAULT_LOCAL;
	}
	r->offset += len;
	return FAULT_NONE;
}

static void read_data(struct qp *qp)
{
	struct resp_tag *tag = &qp->resp.tag;
	struct tag_job job = { .va = get64(tag->header + RVH_VA),
			       .rkey = get32(tag->header + RVH_RKEY),
			       .index = tag->index };
	struct hca_tm_info info = { .what = HCA_TM_CANCELED, .index = tag->index };
	struct hca_cqe cqe = { .tm = &info };

	if (qp->resp.recv->sge_count)
		job.to = qp->resp.recv->sge[0];
	job.to.len = get32(tag->header + RVH_LEN);
	memcpy(job.fin, tag->header, sizeof(job.fin));
	job.fin[0] = KIND_FIN;
	tag->run = tag_sq_add(qp->tag_sq, &job);
	if (!tag->run)
		recv_complete(qp, &cqe);
}

void tag_recv_finish(struct qp *qp, struct hca_cqe *cqe)
{
	complete(qp, qp->resp.tag.what, cqe);
	if (qp->resp.tag.reads)
		read_data(qp);
	qp->resp.tag.what = 0;
}
