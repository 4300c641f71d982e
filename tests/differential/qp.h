/* SPDX-License-Identifier: BSD-2-Clause */
/* Queue pairs: creation, states, queries. */
#ifndef DIFFERENTIAL_QP_H
#define DIFFERENTIAL_QP_H

#include <infiniband/verbs.h>

#include "words.h"

void qp_create(const struct words *w);
void qp_modify(const struct words *w);
void qp_query(const struct words *w);
void qp_destroy(const struct words *w);

/* The address of this port, with what is wrong about it in the line. */
void qp_fill_ah(struct ibv_ah_attr *attr, const struct words *w);

#endif
