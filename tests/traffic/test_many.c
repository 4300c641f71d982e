/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Many queue pairs at once.
 */
#include "rig.h"

#define MANY 1000

static struct options small(void)
{
	struct options o = options_of(IBV_QPT_RC);

	o.send_wr = o.recv_wr = 4;
	o.send_sge = o.recv_sge = 1;
	o.cqe = 2 * MANY;
	return o;
}

static void a_thousand_connections_work_side_by_side(void)
{
	struct options o = small();
	struct end *a = end_open(&o), *b = end_open(&o), **left, **right;

	left = must(calloc(MANY, sizeof(*left)));
	right = must(calloc(MANY, sizeof(*right)));
	for (int i = 0; i < MANY; i++) {
		left[i] = end_twin(a);
		right[i] = end_twin(b);
		check(!i || left[i]->qp->qp_num != left[i - 1]->qp->qp_num);
		ends_connect(left[i], right[i]);
		post_recv(right[i], i, i * 32, 32);
	}
	for (int i = 0; i < MANY; i++) {
		memcpy(a->buf + i * 32, &i, sizeof(i));
		post(left[i], &(struct work){ .id = i,
					      .op = IBV_WR_SEND,
					      .flags = IBV_SEND_SIGNALED,
					      .off = i * 32,
					      .len = 32 });
	}
	for (int i = 0; i < MANY; i++) {
		struct ibv_wc wc = wait_wc(b->rcq);

		check_equal(wc.status, IBV_WC_SUCCESS);
		check_equal(wc.qp_num, right[wc.wr_id]->qp->qp_num);
	}
	for (int i = 0; i < MANY; i++) {
		check_equal(wait_wc(a->scq).status, IBV_WC_SUCCESS);
		check(!memcmp(b->buf + i * 32, &i, sizeof(i)));
	}
	for (int i = 0; i < MANY; i++) {
		twin_close(left[i]);
		twin_close(right[i]);
	}
	free(left);
	free(right);
	end_close(a);
	end_close(b);
}

static void others(int fd)
{
	struct options o = small();
	struct end *b = end_open(&o), **qp = must(calloc(MANY / 4, sizeof(*qp)));

	for (int i = 0; i < MANY / 4; i++) {
		qp[i] = end_twin(b);
		end_meet(qp[i], fd);
		post_recv(qp[i], i, i * 32, 32);
	}
	tell_mark(fd, 'p');
	for (int i = 0; i < MANY / 4; i++)
		check_equal(wait_wc(b->rcq).status, IBV_WC_SUCCESS);
	hear_mark(fd, 'E');
	for (int i = 0; i < MANY / 4; i++)
		twin_close(qp[i]);
	free(qp);
	end_close(b);
}

static void hundreds_of_connections_to_another_process_work(void)
{
	struct peer peer = peer_start(others);
	struct options o = small();
	struct end *a = end_open(&o), **qp = must(calloc(MANY / 4, sizeof(*qp)));

	for (int i = 0; i < MANY / 4; i++) {
		qp[i] = end_twin(a);
		end_meet(qp[i], peer.fd);
	}
	hear_mark(peer.fd, 'p');
	for (int i = 0; i < MANY / 4; i++)
		post(qp[i], &(struct work){ .id = i,
					    .op = i % 2 ? IBV_WR_SEND : IBV_WR_RDMA_WRITE_WITH_IMM,
					    .flags = IBV_SEND_SIGNALED,
					    .len = 32,
					    .raddr = qp[i]->to.va,
					    .rkey = qp[i]->to.rkey });
	for (int i = 0; i < MANY / 4; i++)
		check_equal(wait_wc(a->scq).status, IBV_WC_SUCCESS);
	tell_mark(peer.fd, 'E');
	for (int i = 0; i < MANY / 4; i++)
		twin_close(qp[i]);
	free(qp);
	end_close(a);
	peer_join(&peer);
}

/* Numbers are reused as late as possible, so that a late packet finds no other queue pair. */
static void queue_pair_numbers_are_not_reused_soon(void)
{
	struct options o = small();
	struct end *e = end_open(&o);
	uint32_t first = e->qp->qp_num;

	for (int i = 0; i < 100; i++) {
		struct end *twin = end_twin(e);

		check(twin->qp->qp_num != first);
		if (i)
			check(twin->qp->qp_num != 0);
		twin_close(twin);
		twin = end_twin(e);
		check(twin->qp->qp_num != first);
		twin_close(twin);
	}
	end_close(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_thousand_connections_work_side_by_side),
		TEST(hundreds_of_connections_to_another_process_work),
		TEST(queue_pair_numbers_are_not_reused_soon),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
