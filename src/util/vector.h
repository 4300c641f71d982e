/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ISA-L leaves the upper halves of the vector registers in use, which slows later SSE code of the whole
 * program. Call this after it.
 */
#ifndef UTIL_VECTOR_H
#define UTIL_VECTOR_H

static inline void vector_clear_upper(void)
{
#ifdef __x86_64__
	if (__builtin_cpu_supports("avx"))
		__asm__ volatile("vzeroupper" ::
					 : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6",
					   "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12",
					   "xmm13", "xmm14", "xmm15");
#endif
}

#endif
