/* SPDX-License-Identifier: BSD-2-Clause */
/* The adapters' state in the child of a fork. */
#ifndef HCA_FORK_H
#define HCA_FORK_H

/* In the child, whose only thread holds no lock. */
void hca_forked(void);

#endif
