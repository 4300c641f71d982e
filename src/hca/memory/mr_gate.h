/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Peers write to memory that is not shared through the kernel (process_vm_writev()), which holds pages of it meanwhile:
 * a write to a page that moves would be lost. Between close and open peers send packets instead.
 */
#ifndef HCA_MR_GATE_H
#define HCA_MR_GATE_H

/* Returns when no such write is under way. Gates nest. Without locks from multicast inwards. */
void mr_gate_close(void);
void mr_gate_open(void);

#endif
