/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keys that do not permit the access put the queue pair into the error state, as for other requests.
 * Data that cannot be converted does not: the completion has the reason, and later requests run.
 * DPDK's compress driver relies on that; it reports such requests to the program and goes on.
 */
#include "hca/transport/mmo.h"

#include <endian.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "hca/hca.h"
#include "hca/memory/codec_sum.h"
#include "hca/memory/deflate.h"
#include "hca/memory/lz4.h"
#include "hca/memory/mem.h"
#include "hca/transport/request.h"
#include "hca/transport/request_fail.h"
#include "hca/transport/sig_error.h"
#include "hca/transport/syndrome.h"
#include "hca/transport/window.h"

/* Results: words in network order. The checksums come after the length, or after a gap. */
enum {
	RESULT_SYNDROME = 0,
	RESULT_LENGTH = 2,
	RESULT_SUMS_1 = 8,
	RESULT_SUMS_2 = 3,
	RESULT_WORDS = 16,
};

/* One request on its way. */
struct job {
	struct qp *qp;
	const struct hca_mmo *how;
	struct hca_list from, to, results; /* results: of count 0 when they are not wanted */
	uint32_t made;
	struct codec_sums sums;
};

void mmo_init(struct qp *qp)
{
	const struct hca_model *model = qp->pub.ctx->adapter->model;

	/* Without the library, requests that need it fail. */
	if (model->mmo & HCA_MMO_CAN_UNLZ4 &&
	    !atomic_load_explicit(&hca.transport.lz4, memory_order_relaxed))
		atomic_store_explicit(&hca.transport.lz4, lz4_load(), memory_order_relaxed);
}

void mmo_fini(struct qp *qp)
{
	deflate_work_destroy(qp->deflate);
}

static bool resolve(struct job *j, const struct hca_send *s)
{
	uint32_t pdn = j->qp->pub.pd->pdn;
	struct hca_sge results = s->sge[2];

	/* A copy touches as much of its output as it has input. */
	uint64_t reach = s->mmo.kind == HCA_MMO_DMA ? s->sge[0].len : s->sge[1].len;

	j->results.count = 0;
	results.len = RESULT_WORDS * sizeof(uint32_t);
	return hca_mem_resolve(&s->sge[0], 1, pdn, 0, &j->from) &&
	       hca_mem_resolve_first(&s->sge[1], 1, pdn, HCA_ACCESS_LOCAL_WRITE, reach, &j->to) &&
	       (s->sge_count < 3 ||
		hca_mem_resolve(&results, 1, pdn, HCA_ACCESS_LOCAL_WRITE, &j->results));
}

static bool is_too_long(const struct hca_send *s)
{
	uint64_t most = 1ull << (s->mmo.kind == HCA_MMO_DMA ? HCA_MMO_LOG_DMA : HCA_MMO_LOG_CODEC);

	return s->sge[0].len > most || s->sge[1].len > most;
}

/* The memory itself when it lies in one piece, else a copy or space for one, which *copy owns. */
static uint8_t *view(const struct hca_list *list, uint8_t **copy)
{
	*copy = NULL;
	if (list->count == 1 && list->seg[0].kind == HCA_SEG_PLAIN)
		return (uint8_t *)list->seg[0].ptr;
	*copy = malloc(list->total);
	return *copy;
}

static bool wants_more_sums(const struct job *j)
{
	return j->qp->pub.ctx->adapter->model->mmo & HCA_MMO_RESULTS_2;
}

static enum codec_result run_codec(struct job *j, const uint8_t *in, uint8_t *out)
{
	const struct deflate_how deflate = { .log_window = j->how->log_window,
					     .log_block = j->how->log_block,
					     .dynamic = j->how->dynamic };
	const struct lz4_how lz4 = { .decompress = atomic_load_explicit(&hca.transport.lz4,
									memory_order_relaxed),
				     .has_lengths = j->how->has_lengths,
				     .has_sums = j->how->has_sums,
				     .independent = j->how->independent };
	uint32_t len = (uint32_t)j->from.total, room = (uint32_t)j->to.total;

	if (j->how->kind == HCA_MMO_UNLZ4)
		return lz4_expand(&lz4, in, len, out, room, &j->made);
	if (!j->qp->deflate)
		j->qp->deflate = deflate_work_create();
	if (!j->qp->deflate)
		return CODEC_FAILED;
	if (j->how->kind == HCA_MMO_DEFLATE)
		return deflate_compress(j->qp->deflate, &deflate, in, len, out, room, &j->made);
	return deflate_expand(j->qp->deflate, in, len, out, room, &j->made);
}

/* False: memory has gone, or cannot be had. */
static bool convert(struct job *j, enum codec_result *result)
{
	uint8_t *in_copy, *out_copy;
	uint8_t *in = view(&j->from, &in_copy), *out = view(&j->to, &out_copy);
	bool ok = in && out && (!in_copy || hca_mem_copy_out(&j->from, 0, in, j->from.total));

	if (ok)
		*result = run_codec(j, in, out);
	if (ok && *result == CODEC_DONE) {
		if (j->results.count && j->how->kind == HCA_MMO_DEFLATE)
			codec_sums(in, j->from.total, wants_more_sums(j), &j->sums);
		else if (j->results.count)
			codec_sums(out, j->made, wants_more_sums(j), &j->sums);
		ok = !out_copy || hca_mem_copy_in(&j->to, 0, out, j->made);
	}
	free(in_copy);
	free(out_copy);
	return ok;
}

static bool copy_with_sums(struct job *j)
{
	uint8_t *copy, *in = view(&j->from, &copy);
	bool ok = in && (!copy || hca_mem_copy_out(&j->from, 0, in, j->from.total)) &&
		  hca_mem_copy_in(&j->to, 0, in, j->from.total);

	if (ok)
		codec_sums(in, j->from.total, wants_more_sums(j), &j->sums);
	free(copy);
	return ok;
}

static bool copy(struct job *j, enum codec_result *result)
{
	*result = j->from.total > j->to.total ? CODEC_NO_SPACE : CODEC_DONE;
	if (*result != CODEC_DONE)
		return true;
	j->made = (uint32_t)j->from.total;
	if (j->results.count)
		return copy_with_sums(j);
	return hca_mem_copy(&j->to, 0, &j->from, 0, j->from.total);
}

static bool write_results(const struct job *j, uint16_t syndrome)
{
	bool more = wants_more_sums(j);
	uint32_t word[RESULT_WORDS] = { 0 }, *sum = &word[more ? RESULT_SUMS_2 : RESULT_SUMS_1];

	if (!j->results.count)
		return true;
	word[RESULT_SYNDROME] = htobe32(syndrome >> 8);
	if (!syndrome) {
		word[RESULT_LENGTH] = htobe32(j->made);
		sum[0] = htobe32(j->sums.crc32);
		sum[1] = htobe32(j->sums.adler32);
		if (more) {
			sum[2] = htobe32(j->sums.crc32c);
			sum[3] = htobe32(j->sums.xxh32);
		}
	}
	return hca_mem_copy_in(&j->results, 0, word, sizeof(word));
}

static enum run_result fail(struct qp *qp, const struct hca_send *s, enum hca_status status,
			    uint16_t vendor)
{
	request_fail(qp, s, status, vendor);
	return RUN_STOP;
}

enum run_result mmo_run(struct qp *qp, struct hca_send *s)
{
	static const uint16_t syndromes[] = {
		[CODEC_DONE] = 0,
		[CODEC_NO_SPACE] = SYN_MMO_NO_SPACE,
		[CODEC_TRUNCATED] = SYN_MMO_TRUNCATED,
		[CODEC_CORRUPT] = SYN_MMO_CORRUPT,
	};
	struct job j = { .qp = qp, .how = &s->mmo };
	enum codec_result result = CODEC_FAILED;
	bool ok;

	if (!window_is_empty(&qp->window))
		return RUN_WAIT;
	s->length = 0;
	if (is_too_long(s))
		return fail(qp, s, HCA_LOC_LEN_ERR, SYN_LENGTH);
	ok = resolve(&j, s) &&
	     (s->mmo.kind == HCA_MMO_DMA ? copy(&j, &result) : convert(&j, &result));
	if (ok && result != CODEC_FAILED)
		ok = write_results(&j, syndromes[result]);
	sig_error_of_request(qp);
	if (!ok)
		return fail(qp, s, HCA_LOC_PROT_ERR, SYN_LOCAL_PROT);
	if (result == CODEC_FAILED)
		return fail(qp, s, HCA_LOC_QP_OP_ERR, SYN_QP_OP);
	if (result == CODEC_DONE) {
		s->length = j.made;
		request_finish_local(qp, s);
	} else {
		request_finish(qp, s, HCA_LOC_QP_OP_ERR, syndromes[result]);
	}
	return RUN_ON;
}
