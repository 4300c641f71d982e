/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The copy server: a thread that carries out copies and atomics in this process's memory for
 * processes that share a context with it and can neither map the memory nor have the kernel copy it
 * (copy_client.h). A client posts a request, with its data, to a slot in the server's mailbox
 * (segment.h). The thread takes no lock and waits for no other process, so that a client may hold any
 * lock, and two processes may be each other's clients.
 */
#ifndef HCA_COPY_SERVER_H
#define HCA_COPY_SERVER_H

/* Starts the thread, unless it runs. */
void copy_server_open(void);

#endif
