/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From descriptors to rsockets. A call that uses an rsocket counts as its user meanwhile; an object is
 * freed when it has left the table and has no users. Looking up takes no lock.
 */
#ifndef RSOCKET_TABLE_H
#define RSOCKET_TABLE_H

enum rs_kind {
	RS_STREAM,
	RS_DGRAM,
	RS_EPOLL,
};

/* First member of what the table holds. */
struct rs_entry {
	enum rs_kind kind;
	int fd; /* -1: not in the table */
};

/* entry->fd is the caller's, and stays open as long as the entry is in the table. -ENOMEM, -EMFILE. */
int rs_table_add(struct rs_entry *entry, int fd);
/* The descriptor's object, to be given back with rs_table_put(); NULL: it is no rsocket. */
struct rs_entry *rs_table_get(int fd);
void rs_table_put(struct rs_entry *entry);
/* Takes the object out, for one caller only; NULL: there is none. Users may still be there. */
struct rs_entry *rs_table_remove(int fd);
/* Waits until the removed object has no users. They must not block on anything but what woke them. */
void rs_table_wait_unused(struct rs_entry *entry);

#endif
