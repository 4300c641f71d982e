/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Known defects, put in by the test's own side of packets, memory and completions: proof that the
 * model notices each of them. The adapter itself is not changed.
 */
#ifndef TESTS_SIM_MUTATION_H
#define TESTS_SIM_MUTATION_H

#include <stdbool.h>

struct cq;
struct hca_cqe;
struct qp;
struct roce_pkt;

/* By name; false: there is none of that name. */
bool mutation_choose(const char *name);
/* A simulation begins. */
void mutation_reset(void);
/* All names, each on a line. */
void mutation_list(void);

/* A packet is about to leave. */
void mutation_packet(const struct roce_pkt *pkt, unsigned char *payload);
/* A packet was handled. */
void mutation_delivered(const struct qp *qp, const struct roce_pkt *pkt, const void *payload);
/* A completion is about to be taken. False: it is lost. */
bool mutation_completion(struct cq *cq, struct hca_cqe *cqe);

#endif
