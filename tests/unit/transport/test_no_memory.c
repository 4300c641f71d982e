/* SPDX-License-Identifier: BSD-2-Clause */
/* Requests that were accepted complete, whichever allocations fail. */
#include "cmocka_all.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "transport/end.h"

#include "hca/hca.h"
#include "hca/transport/qp.h"
#include "no_memory.h"

#define PAIRS 100u

/* Memory for the timers of all queue pairs is there when they are created, not when a timer is set. */
static void timers_of_all_queue_pairs_are_set_without_memory(void **state)
{
	struct end *e[PAIRS][2];

	net_reset();
	for (unsigned int i = 0; i < PAIRS; i++) {
		/* A request before, so that there is a window; its timer is over before the next. */
		end_pair(e[i], &END_DEFAULTS);
		end_post_to(e[i][0], HCA_OP_WRITE, 0, 8, e[i][1], 0);
		end_ring(e[i][0]);
		assert_int_equal(end_await(e[i][0])->status, 0);
		net_pass(1000000000ull);
	}
	net.held = true;
	no_memory = true;
	for (unsigned int i = 0; i < PAIRS; i++) {
		end_post_to(e[i][0], HCA_OP_WRITE, 0, 8, e[i][1], 0);
		end_ring(e[i][0]);
	}
	net_pass(10000000000ull);
	no_memory = false;
	for (unsigned int i = 0; i < PAIRS; i++) {
		const struct hca_cqe *cqe = end_completion(e[i][0]);

		assert_non_null(cqe);
		assert_int_equal(cqe->status, HCA_RETRY_EXC_ERR);
		end_destroy(e[i][0]);
		end_destroy(e[i][1]);
	}
	net_reset();
}

static void a_request_without_a_window_fails_and_does_not_wait(void **state)
{
	struct end *e = end_alone(&END_DEFAULTS);
	const struct hca_cqe *cqe;

	net_reset();
	net.held = true;
	no_memory = true;
	end_post(e, HCA_OP_SEND, 0, 8);
	end_ring(e);
	net_pass(10000000000ull);
	no_memory = false;
	cqe = end_completion(e);
	assert_non_null(cqe);
	assert_int_equal(cqe->status, HCA_LOC_QP_OP_ERR);
	end_destroy(e);
	net_reset();
}

/* The count of timers that memory is reserved for must not wrap when a child destroys what it inherited. */
static void a_child_counts_the_timers_that_it_inherited(void **state)
{
	size_t before = hca.transport.timers.users;
	struct end *e[3];
	pid_t pid;
	int status;

	for (int i = 0; i < 3; i++)
		e[i] = end_create(0, &END_DEFAULTS);
	assert_int_equal(hca.transport.timers.users, before + 3);
	pid = fork();
	if (!pid) {
		alarm(120);
		/* fork() has called hca_forked() */
		if (hca.transport.timers.users != before + 3)
			_exit(1);
		for (int i = 0; i < 3; i++)
			if (hca_qp_destroy(e[i]->qp))
				_exit(2);
		_exit(hca.transport.timers.users == before ? 0 : 3);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	for (int i = 0; i < 3; i++)
		end_destroy(e[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(timers_of_all_queue_pairs_are_set_without_memory),
		cmocka_unit_test(a_request_without_a_window_fails_and_does_not_wait),
		cmocka_unit_test(a_child_counts_the_timers_that_it_inherited),
	};

	return cmocka_run_group_tests(tests, end_group_begin, end_group_end);
}
