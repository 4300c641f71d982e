/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes the facade: what a kernel with these adapters would show below /sys and /dev. Called by
 * `verbena run` in a process of its own.
 */
#ifndef VERBENA_SYSFS_H
#define VERBENA_SYSFS_H

#include "facts.h"
#include "tree.h"

/* With clocks, where they can be read. 0 or -errno. */
int sysfs_write(struct tree *t, const struct facts *facts, bool clocks);

/* Parts of it, one file each. */
void sysfs_write_port(const struct tree_dir *dev, const struct adapter_fact *fact, int number);
void sysfs_write_pci(struct tree *t, const struct adapter_fact *fact);
/* The PTP clock of an adapter that has one; `next` is the first number to try, then the next one. */
void sysfs_write_clock(struct tree *t, const struct adapter_fact *fact, int *next);

/* sys/devices/pci0000:a0/0000:a0:00.0 */
void sysfs_pci_dir(struct tree_dir *d, struct tree *t, const struct adapter_fact *fact);

#endif
