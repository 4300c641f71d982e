/* SPDX-License-Identifier: BSD-2-Clause */
/* Takes in what lies in a link; an upcall of the fabric. Returns how many records that were. */
#ifndef HCA_DRAIN_H
#define HCA_DRAIN_H

struct fabric_link;

unsigned int drain_link(struct fabric_link *link);

#endif
