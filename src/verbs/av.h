/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Addresses: from the public attributes to the adapter's address vector and back.
 */
#ifndef VERBS_AV_H
#define VERBS_AV_H

#include "hca/device/port.h"
#include "verbs/objects.h"

/* Checks a destination. 0 or -EINVAL. */
int vb_av_check(const struct hca_adapter *a, const struct ibv_ah_attr *attr);
/* Translates without checks; an unknown destination MAC is left zero. */
void vb_av_fill(const struct hca_adapter *a, const struct ibv_ah_attr *attr, struct hca_av *av);
void vb_av_show(const struct hca_av *av, struct ibv_ah_attr *attr);

#endif
