/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/memory/mr_gate.h"

#include "hca/hca.h"
#include "hca/memory/mr_share.h"
#include "hca/peers/grace.h"
#include "hca/peers/segment.h"

void mr_gate_close(void)
{
	if (!hca.peers.segment)
		return;
	/* [SG2] pairs with hca_peer_has_gate(): sections that begin later see it, earlier ones are waited for */
	atomic_fetch_add(&hca.peers.segment->gates, 1);
	/* A peer that is stopped inside a section repeats its request by packets. */
	if (epoch_wait_running(NULL, 0))
		mr_share_skip();
}

void mr_gate_open(void)
{
	if (hca.peers.segment)
		atomic_fetch_sub(&hca.peers.segment->gates, 1);
}
