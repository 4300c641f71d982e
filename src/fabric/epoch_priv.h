/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The part of epoch.h that is for the fabric itself.
 */
#ifndef FABRIC_EPOCH_PRIV_H
#define FABRIC_EPOCH_PRIV_H

/* Something was retired: the service thread shall come by, or, without one, it is freed now. */
void fabric_epoch_retired(void);

void fabric_epoch_fork_prepare(void);
void fabric_epoch_fork_parent(void);
void fabric_epoch_fork_child(void);

#endif
