/* SPDX-License-Identifier: BSD-2-Clause */
/* The rsocket of a number, or -1 if the call is for the kernel. */
#ifndef RSPRELOAD_LOOKUP_H
#define RSPRELOAD_LOOKUP_H

#include "rspreload/late.h"
#include "rspreload/state.h"
#include "util/api.h"

static inline int rsp_lookup(int number)
{
	int rs;

	return rsp_table_get(&rsp.table, number, &rs) == RSP_RSOCKET ? rs : -1;
}

/* For calls that move data, or wait for it. */
static inline int rsp_lookup_data(int number)
{
	int rs;
	enum rsp_kind kind = rsp_table_get(&rsp.table, number, &rs);

	if (likely(kind == RSP_NONE))
		return -1;
	if (kind == RSP_RSOCKET)
		return rs;
	if (kind != RSP_LATE_ACTIVE && kind != RSP_LATE_PASSIVE && kind != RSP_LATE_BUSY)
		return -1;
	rsp_late_connect(number);
	return rsp_lookup(number);
}

#endif
