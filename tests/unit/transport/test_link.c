/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two adapters over a link that loses, repeats, reorders, delays and damages packets: what arrives is what
 * was sent, completions come once and in order, atomics happen once. A failure prints its seed.
 */
#include "cmocka_all.h"

#include <stdlib.h>
#include <string.h>

#include "transport/end.h"

#define REQUESTS 40
#define SLICE    5000u /* each request has a slice of both buffers for itself */

#define FIELDS_ADD 0x00000003c0000001ull

struct workload {
	struct end *ends[2];
	unsigned int seed;
	uint64_t added[2]; /* to the peer's counter, at its END_BYTES - 8 */
	unsigned int sends[2];
	uint32_t masked[2]; /* additions of FIELDS_ADD */
};

static void fill(uint8_t *to, uint32_t len, unsigned int *seed)
{
	for (uint32_t i = 0; i < len; i++)
		to[i] = (uint8_t)rand_r(seed);
}

/* Posts request `i` of the end; what is to be found afterwards is in check(). */
static void post(struct workload *w, int side, unsigned int i)
{
	struct end *me = w->ends[side], *peer = w->ends[!side];
	uint32_t at = i * SLICE, len = rand_r(&w->seed) % SLICE;
	struct hca_send *s;

	switch (rand_r(&w->seed) % 7) {
	case 0:
		fill(me->mem + at, len, &w->seed);
		end_post(me, HCA_OP_SEND, at, len);
		w->sends[side]++;
		break;
	case 1:
		fill(me->mem + at, len, &w->seed);
		end_post_to(me, HCA_OP_WRITE, at, len, peer, at);
		break;
	case 2:
		fill(peer->mem + at, len, &w->seed);
		end_post_to(me, HCA_OP_READ, at, len, peer, at);
		break;
	case 3:
		fill(me->mem + at, 8, &w->seed);
		end_post_to(me, HCA_OP_ATOMIC_WRITE, at, 8, peer, at);
		break;
	case 4:
		s = end_post_to(me, HCA_OP_FLUSH, at, 0, peer, at);
		s->sge_count = 0;
		s->feth = ROCE_FETH_GLOBAL;
		s->length = len;
		break;
	case 5: /* adds to both halves, of which the lower one overflows */
		s = end_post_to(me, HCA_OP_MASKED_FETCH_ADD, at, 8, peer, END_BYTES - 16);
		s->masked = (struct hca_atomic){
			.add = true, .size = 8, .swap = FIELDS_ADD, .compare = 1ull << 31
		};
		w->masked[side]++;
		break;
	default:
		s = end_post_to(me, HCA_OP_FETCH_ADD, at, 8, peer, END_BYTES - 8);
		s->compare = 1 + rand_r(&w->seed) % 100;
		w->added[side] += s->compare;
		break;
	}
}

/* One side works: the other side's slices are its copies, so both directions would collide. */
static bool is_done(void *arg)
{
	const struct workload *w = arg;

	return w->ends[0]->completed - w->ends[0]->taken >= REQUESTS;
}

static void run(const struct net_faults *faults, const struct end_options *options)
{
	struct workload w = { .seed = (unsigned int)faults->seed };
	uint8_t *sent = malloc(END_BYTES);
	uint64_t counter;

	end_pair(w.ends, options);
	net_set_faults(faults);
	for (unsigned int i = 0; i < REQUESTS; i++)
		end_post_recv(w.ends[1], 210000, SLICE);
	for (unsigned int i = 0; i < REQUESTS; i++)
		post(&w, 0, i);
	memcpy(sent, w.ends[0]->mem, END_BYTES);
	end_ring(w.ends[0]);
	if (!net_run(is_done, &w, 600000000000ull))
		fail_msg("seed %u: only %u of %u requests completed; %lu packets, %lu lost",
			 (unsigned int)faults->seed, w.ends[0]->completed, REQUESTS,
			 (unsigned long)net.packets, (unsigned long)net.lost);
	net_pass(1000000000ull); /* packets that are still under way do no harm */
	for (unsigned int i = 0; i < REQUESTS; i++) {
		const struct hca_cqe *c = end_completion(w.ends[0]);
		const struct hca_send *s = &w.ends[0]->send[i];

		if (c->status != HCA_SUCCESS || c->counter != i)
			fail_msg("seed %u: completion %u is of request %u, status %d",
				 (unsigned int)faults->seed, i, c->counter, c->status);
		if ((s->op == HCA_OP_WRITE || s->op == HCA_OP_READ ||
		     s->op == HCA_OP_ATOMIC_WRITE) &&
		    memcmp(w.ends[0]->mem + i * SLICE, w.ends[1]->mem + i * SLICE, s->length))
			fail_msg("seed %u: request %u moved wrong bytes",
				 (unsigned int)faults->seed, i);
	}
	assert_null(end_completion(w.ends[0]));
	assert_int_equal(w.ends[1]->completed, w.sends[0]); /* each message once */
	memcpy(&counter, w.ends[1]->mem + END_BYTES - 16, 8);
	if (counter >> 32 != (uint32_t)(FIELDS_ADD >> 32) * w.masked[0] ||
	    (uint32_t)counter != (uint32_t)FIELDS_ADD * w.masked[0])
		fail_msg("seed %u: %u masked atomics have made 0x%lx", (unsigned int)faults->seed,
			 w.masked[0], (unsigned long)counter);
	memcpy(&counter, w.ends[1]->mem + END_BYTES - 8, 8);
	if (counter != w.added[0])
		fail_msg("seed %u: atomics have added %lu instead of %lu",
			 (unsigned int)faults->seed, (unsigned long)counter,
			 (unsigned long)w.added[0]);
	free(sent);
	end_destroy(w.ends[0]);
	end_destroy(w.ends[1]);
}

static struct end_options patient(void)
{
	struct end_options o = END_DEFAULTS;

	o.retry_cnt = 7;
	o.rnr_retry = 7;
	o.timeout = 10;        /* 4.2 ms */
	o.psn = PSN_MASK - 20; /* the numbers wrap on the way */
	return o;
}

static void a_link_without_faults_carries_everything_once(void **state)
{
	struct end_options o = patient();

	for (uint64_t seed = 1; seed <= 20; seed++) {
		run(&(struct net_faults){ .delay_ns = 2000, .seed = seed }, &o);
		assert_int_equal(net.lost + net.duplicated + net.corrupted, 0);
	}
}

static void losses_are_sent_again(void **state)
{
	struct end_options o = patient();

	for (uint64_t seed = 1; seed <= 40; seed++)
		run(&(struct net_faults){ .delay_ns = 2000, .seed = seed, .loss = 30000 }, &o);
}

static void duplicates_change_nothing(void **state)
{
	struct end_options o = patient();

	for (uint64_t seed = 1; seed <= 40; seed++)
		run(&(struct net_faults){ .delay_ns = 2000, .seed = seed, .duplicate = 200000 },
		    &o);
}

static void packets_out_of_order_change_nothing(void **state)
{
	struct end_options o = patient();

	for (uint64_t seed = 1; seed <= 40; seed++)
		run(&(struct net_faults){ .delay_ns = 2000, .seed = seed, .reorder = 20000 }, &o);
}

static void damaged_packets_are_dropped_by_their_icrc(void **state)
{
	struct end_options o = patient();

	for (uint64_t seed = 1; seed <= 40; seed++) {
		run(&(struct net_faults){ .delay_ns = 2000, .seed = seed, .corrupt = 30000 }, &o);
		/* 16 bits of the ICRC stand for the IPv4 id; the network's are all 0. */
		assert_int_equal(net.dropped_icrc, net.corrupted);
	}
}

static void everything_at_once_changes_nothing(void **state)
{
	struct end_options o = patient();

	for (uint64_t seed = 1; seed <= 60; seed++) {
		o.path_mtu = 1 + seed % 5;
		o.rd_atomic = 1 + seed % 16;
		o.out_of_order = seed % 2;
		run(&(struct net_faults){ .delay_ns = 500 + 7919 * (seed % 13),
					  .seed = seed,
					  .loss = 15000,
					  .duplicate = 15000,
					  .reorder = 15000,
					  .corrupt = 15000 },
		    &o);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_link_without_faults_carries_everything_once),
		cmocka_unit_test(losses_are_sent_again),
		cmocka_unit_test(duplicates_change_nothing),
		cmocka_unit_test(packets_out_of_order_change_nothing),
		cmocka_unit_test(damaged_packets_are_dropped_by_their_icrc),
		cmocka_unit_test(everything_at_once_changes_nothing),
	};

	return cmocka_run_group_tests(tests, end_group_begin, end_group_end);
}
