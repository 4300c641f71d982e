/* SPDX-License-Identifier: BSD-2-Clause */
/* Receives from a link; a callback of the fabric. Returns the number of records. */
#ifndef HCA_DRAIN_H
#define HCA_DRAIN_H

struct fabric_link;

unsigned int drain_link(struct fabric_link *link);

#endif
