/* SPDX-License-Identifier: BSD-2-Clause */
/* Host directories that killed processes have left, of other network namespaces of the user. */
#ifndef FABRIC_LITTER_H
#define FABRIC_LITTER_H

/*
 * Removes the folders of host directories in which no process lives any more. Those of this network
 * namespace are not touched: their next process uses them. Nor are folders with settings, which are
 * orders of the user.
 */
void litter_remove(void);

#endif
