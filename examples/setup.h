/* SPDX-License-Identifier: BSD-2-Clause */
/* Two RC queue pairs of one process, connected with each other. */
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

#endif
