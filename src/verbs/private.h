/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Private nodes of libibverbs.so.1. rdma-core renames its node, IBVERBS_PRIVATE_NN, whenever what lies
 * between libibverbs and its drivers changes, and the dynamic linker refuses a driver or program that wants
 * another number. VB_PRIVATE(symbol) exports a symbol under every number there has been; it stands in the
 * file that defines the symbol, between declaration and definition. The default is Debian 12's.
 *
 * The definition is renamed for the assembler: beside `f@NODE` of the same object file, the linker drops or
 * doubles a plain `f`.
 *
 * A new number: one line here, one node in libibverbs.map, one registration in private.c.
 */
#ifndef VERBS_PRIVATE_H
#define VERBS_PRIVATE_H

#include <stdbool.h>

#include "util/api.h"

/* Foreign drivers read this flag, which removal.c sets. */
extern VB_API bool verbs_allow_disassociate_destroy;

#define VB_PRIVATE_AT(symbol, at) __asm__(".symver private_" #symbol "," #symbol at)

#define VB_PRIVATE(symbol)                                                                         \
	extern __typeof__(symbol) symbol __asm__("private_" #symbol);                              \
	VB_PRIVATE_AT(symbol, "@IBVERBS_PRIVATE_13");                                              \
	VB_PRIVATE_AT(symbol, "@IBVERBS_PRIVATE_14");                                              \
	VB_PRIVATE_AT(symbol, "@IBVERBS_PRIVATE_15");                                              \
	VB_PRIVATE_AT(symbol, "@IBVERBS_PRIVATE_16");                                              \
	VB_PRIVATE_AT(symbol, "@IBVERBS_PRIVATE_17");                                              \
	VB_PRIVATE_AT(symbol, "@IBVERBS_PRIVATE_18");                                              \
	VB_PRIVATE_AT(symbol, "@IBVERBS_PRIVATE_19");                                              \
	VB_PRIVATE_AT(symbol, "@IBVERBS_PRIVATE_20");                                              \
	VB_PRIVATE_AT(symbol, "@IBVERBS_PRIVATE_21");                                              \
	VB_PRIVATE_AT(symbol, "@IBVERBS_PRIVATE_22");                                              \
	VB_PRIVATE_AT(symbol, "@IBVERBS_PRIVATE_25");                                              \
	VB_PRIVATE_AT(symbol, "@IBVERBS_PRIVATE_33");                                              \
	VB_PRIVATE_AT(symbol, "@@IBVERBS_PRIVATE_34");                                             \
	VB_PRIVATE_AT(symbol, "@IBVERBS_PRIVATE_57");                                              \
	VB_PRIVATE_AT(symbol, "@IBVERBS_PRIVATE_59");                                              \
	VB_PRIVATE_AT(symbol, "@IBVERBS_PRIVATE_64");                                              \
	VB_PRIVATE_AT(symbol, "@IBVERBS_PRIVATE_65")

#endif
