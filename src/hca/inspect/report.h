/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The report of a process about wire and faults, which it writes at its end if VERBENA_STAT is set:
 * to stderr ("1") or to a file.
 */
#ifndef HCA_REPORT_H
#define HCA_REPORT_H

/* Reads VERBENA_STAT. */
void report_init(void);

#endif
