/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the tests of the public API share. A helper that fails ends the test that called it.
 */
#ifndef VERBS_TEST_H
#define VERBS_TEST_H

#include "cmocka_all.h"

#include <stdbool.h>
#include <infiniband/verbs.h>

/* Exported for rdma-core's own tools, in no header. */
enum ibv_gid_type_sysfs {
	IBV_GID_TYPE_SYSFS_IB_ROCE_V1,
	IBV_GID_TYPE_SYSFS_ROCE_V2,
};
int ibv_query_gid_type(struct ibv_context *context, uint8_t port_num, unsigned int index,
		       enum ibv_gid_type_sysfs *type);

struct ibv_context *test_open(const char *name);
void test_close(struct ibv_context *context);

/* One adapter of either kind. The block runs once on each; its number is i_. */
extern const char *const test_devices[2];

#define FOR_EACH_DEVICE(context)                                                                   \
	for (size_t i_ = 0; i_ < 2; i_++)                                                          \
		for (struct ibv_context *context = test_open(test_devices[i_]); context;           \
		     test_close(context), context = NULL)

/* How many descriptors the process has open. */
int test_count_fds(void);
/*
 * Opens the descriptors that a process keeps. The service thread opens some of them some time after the first
 * device was opened; creating a queue pair waits for the last ones, those of the process's link to itself.
 */
void test_warm_up(void);

/* Runs fn(arg) in a child; its exit status, or -1 when it died otherwise. */
int test_in_child(int (*fn)(void *arg), void *arg);

/* How long a test waits for what has to come. */
#define TEST_WAIT_MS 60000

/* True when fd becomes readable within the time; the time is a limit, not a pause. */
bool test_readable(int fd, int timeout_ms);

#endif
