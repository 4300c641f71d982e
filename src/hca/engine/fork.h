/* SPDX-License-Identifier: BSD-2-Clause */
/* The adapters' state in the child of a fork. */
#ifndef HCA_FORK_H
#define HCA_FORK_H

/* In the child, whose only thread holds every lock of engine/hca.c's table. */
void hca_forked(void);

#endif
