/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * repoll instances: a set of descriptors that outlives the calls that wait on it.
 */
#ifndef RSOCKET_REPOLL_H
#define RSOCKET_REPOLL_H

#include "rsocket/table.h"

/* rclose() of an instance that has left the table. */
void rs_repoll_close(struct rs_entry *entry);

#endif
