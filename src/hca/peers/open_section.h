/* SPDX-License-Identifier: BSD-2-Clause */
/* A section of a process that was open (grace.h). Types only. */
#ifndef HCA_OPEN_SECTION_H
#define HCA_OPEN_SECTION_H

#include <stdbool.h>
#include <stdint.h>

#include "fabric/id.h"

/* Peers are named by id: they may be gone when it is looked at again. */
struct open_section {
	fabric_id_t id;
	uint32_t cell;
	bool by_kernel; /* the kernel may be copying for it */
	/* such copies begin only if the owner's segment permits (hca/memory/vm_copy.h) */
	bool guarded;
	uint64_t section;
};

#endif
