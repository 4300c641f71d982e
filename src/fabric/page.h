/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The first page of every process segment, which the fabric keeps. Linked peers read and write it,
 * too: no process trusts what it reads from the page of another.
 */
#ifndef FABRIC_PAGE_H
#define FABRIC_PAGE_H

#include <stdatomic.h>
#include <stdint.h>

#define FABRIC_SEGMENT_RESERVED 4096u

struct fabric_page {
	uint32_t magic;
	uint32_t version;

	/* 1 while threads of the owner poll: peers need not kick. The owner writes. */
	_Alignas(64) _Atomic uint32_t polling;
};

_Static_assert(sizeof(struct fabric_page) <= FABRIC_SEGMENT_RESERVED, "the page holds it");

#endif
