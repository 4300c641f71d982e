/* SPDX-License-Identifier: BSD-2-Clause */
/* What the wire and the faults have done in this process, in words; at its end where VERBENA_STAT
 * asks for it. */
#ifndef HCA_REPORT_H
#define HCA_REPORT_H

#include <stdio.h>

/* The process shall report when it ends, if it was asked to. */
void report_begin(void);
void report_write(FILE *out);

#endif
