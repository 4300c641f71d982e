/* SPDX-License-Identifier: BSD-2-Clause */
#include "check/adapter.h"

#include "check/adversary.h"
#include "check/datagram.h"
#include "check/queue.h"
#include "check/raw_ring.h"
#include "check/target.h"
#include "hca/device/checker.h"

static void sq_looked(struct hca_qp *qp, uint32_t oldest, uint32_t next)
{
	check_raw_sq(qp->checked, qp, oldest, next);
}

static void sq_register(struct hca_qp *qp, const void *reg, uint32_t size)
{
	check_raw_register(qp->checked, reg, size);
}

static void recv_taken(struct hca_qp *qp, uint32_t counter)
{
	check_target_taken(qp->checked, qp, counter);
}

static void cq_overrun(struct hca_cq *cq, uint32_t consumer)
{
	check_raw_cq(cq->checked, cq, consumer);
}

static void datagram_too_long(struct hca_qp *qp, uint32_t bytes)
{
	check_datagram_too_long(qp->checked, bytes);
}

static void datagram_qkey(struct hca_qp *qp, uint32_t got, uint32_t want)
{
	check_datagram_qkey(qp->checked, got, want);
}

static const struct hca_checker checker = {
	.sq_looked = sq_looked,
	.sq_register = sq_register,
	.recv_taken = recv_taken,
	.cq_overrun = cq_overrun,
	.datagram_too_long = datagram_too_long,
	.datagram_qkey = datagram_qkey,
};

static const struct hca_checker adversary = {
	.sq_looked = sq_looked,
	.sq_register = sq_register,
	.recv_taken = recv_taken,
	.cq_overrun = cq_overrun,
	.datagram_too_long = datagram_too_long,
	.datagram_qkey = datagram_qkey,
	.random = check_adversary_random,
};

void check_adapter_open(void)
{
	hca_checker_set(check.adversary ? &adversary : &checker);
}
