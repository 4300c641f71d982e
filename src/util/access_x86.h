/* SPDX-License-Identifier: BSD-2-Clause */
/* General registers of x86-64 in a signal's context, by the number that instructions have for them. */
#ifndef UTIL_ACCESS_X86_H
#define UTIL_ACCESS_X86_H

#include <stdint.h>
#include <ucontext.h>

#ifdef __x86_64__

static const int access_places[16] = {
	REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
	REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15,
};

static inline uint64_t access_general(const ucontext_t *at, unsigned int number)
{
	return (uint64_t)at->uc_mcontext.gregs[access_places[number]];
}

#endif

#endif
