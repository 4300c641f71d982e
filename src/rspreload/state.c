/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Start, fork and end of the library.
 *
 * The child of a fork has none of its parent's RDMA connections. Its numbers of rsockets become what
 * the kernel has behind them, sockets that are not connected.
 */
#include "rspreload/state.h"

#include <dlfcn.h>
#include <infiniband/verbs.h>
#include <rdma/rsocket.h>
#include <stdlib.h>

#include "util/explain.h"

struct rsp_state rsp = {
	.once = PTHREAD_ONCE_INIT,
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.late_done = PTHREAD_COND_INITIALIZER,
	.epolls = LIST_HEAD_INITIALIZER(rsp.epolls),
};

static int number_from(const char *variable)
{
	const char *text = getenv(variable);

	return text ? atoi(text) : 0;
}

static const void *base_of(const void *address)
{
	Dl_info info;

	return dladdr(address, &info) ? info.dli_fbase : NULL;
}

static void forget(struct rsp_table *table, int number, enum rsp_kind kind, int rs)
{
	if (kind == RSP_RSOCKET || kind == RSP_EPOLL)
		rsp_table_clear(table, number);
}

/* The epoll instances' memory is leaked: free() is not for a child of threads. */
static void forked(void)
{
	rsp_table_walk(&rsp.table, forget);
	LIST_INIT(&rsp.epolls);
	pthread_cond_init(&rsp.late_done, NULL);
	rsp_unlock();
}

static void start(void)
{
	FILE *file = fopen(RSPRELOAD_CONFIG_FILE, "re");

	if (file) {
		rsp_config_read(&rsp.config, file);
		fclose(file);
	}
	rsp.sq_size = number_from("RS_SQ_SIZE");
	rsp.rq_size = number_from("RS_RQ_SIZE");
	rsp.inline_size = number_from("RS_INLINE");
	rsp.late = number_from("RDMAV_FORK_SAFE");
	rsp.own[0] = base_of((const void *)rsocket);
	rsp.own[1] = base_of((const void *)ibv_open_device);
	rsp.own[2] = base_of((const void *)explain_note);
	pthread_atfork(rsp_lock, rsp_unlock, forked);
}

void rsp_state_start(void)
{
	pthread_once(&rsp.once, start);
}

static void end(struct rsp_table *table, int number, enum rsp_kind kind, int rs)
{
	if (kind == RSP_RSOCKET)
		rshutdown(rs, SHUT_RDWR);
}

/*
 * A program may leave the closing of its sockets to the kernel, and what it has sent arrives all the
 * same. Not rclose(): other threads may still be inside of a call.
 */
__attribute__((destructor)) static void stop(void)
{
	rsp_table_walk(&rsp.table, end);
}
