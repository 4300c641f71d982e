/* SPDX-License-Identifier: BSD-2-Clause */
/* Which errors the kernel may give for which system call. */
#ifndef TESTS_SYS_TABLE_H
#define TESTS_SYS_TABLE_H

/* The error that this system call fails with now, by what is armed, or 0. */
int sys_table_fails(long nr, const long *arg);

#endif
