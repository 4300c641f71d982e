/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * setup_open() makes two RC queue pairs of one process, connected with each other. A program that needs another
 * number of queue pairs takes the steps itself: setup_device(), setup_qp(), setup_connect().
 */
#ifndef EXAMPLES_SETUP_H
#define EXAMPLES_SETUP_H

#include <infiniband/verbs.h>

struct setup {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp[2];
	struct ibv_mr *mr;
	char memory[4096];
};

/* Ends the program with a message when something fails. */
void setup_open(struct setup *s, const char *device);
void setup_close(struct setup *s);
void setup_check(int failed, const char *what);

/* Context, protection domain, completion queue and registered memory; no queue pair. */
void setup_device(struct setup *s, const char *device);
struct ibv_qp *setup_qp(struct setup *s);
/* Of this port itself: both ends are on it. A GRH is a must on Ethernet, and a choice on InfiniBand. */
struct ibv_ah_attr setup_address(struct ibv_context *context);
/* With a queue pair of the same port, in this process or in another one. */
void setup_connect(struct ibv_qp *qp, uint32_t peer);

#endif
