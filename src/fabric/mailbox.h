/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The mailbox of a process: a sealed memfd that every linked peer maps read-write, for requests that
 * it leaves there. The adapter lays it out. Its owner trusts nothing that it reads from it: copy,
 * check, use; and it waits for no word in it without a limit.
 */
#ifndef FABRIC_MAILBOX_H
#define FABRIC_MAILBOX_H

#include <stdint.h>

/* This process's mailbox; NULL when the fabric is down, or has none. */
void *fabric_mailbox_self(void);
uint64_t fabric_mailbox_size(void);

/* ---- inside the fabric ---- */

int fabric_mailbox_create(uint64_t size);
void fabric_mailbox_destroy(void);
/* -1: none. */
int fabric_mailbox_fd(void);
/* Maps a peer's; -EPROTO unless it is a sealed memfd of the size of our own. Keeps no fd. */
int fabric_mailbox_map(int fd, void **out);
void fabric_mailbox_unmap(void *mailbox, uint64_t size);
/* In the child of a fork. */
void fabric_mailbox_forked(void);

#endif
