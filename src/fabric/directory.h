/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The host directory: one small file per user and network namespace that every process maps. It has
 * a slot for each process, blocks of queue-pair numbers and memory keys with their owners and LIDs
 * (numbers.h), keys with values and owners (registry.h), and a row of counters for each process.
 *
 * Changes are made under an OFD lock on the file, which the kernel releases when its holder dies.
 * Reads take no lock. Each process holds another OFD lock, on the byte of its slot, for as long as
 * it lives: once that byte can be locked, the process is dead. Every entry names its owner by a
 * fabric_id_t and counts only while that id stands in its slot. So removing a process is one store,
 * and a death in the middle of a change leaves nothing half visible.
 */
#ifndef FABRIC_DIRECTORY_H
#define FABRIC_DIRECTORY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "fabric/id.h"

#define FABRIC_TOKEN_BYTES 16
/* Dead processes that are removed for one entry, before its caller gives up. */
#define FABRIC_REAP_TRIES 1000u

/* The contents of a slot. */
struct fabric_process {
	fabric_id_t id;
	pid_t pid;           /* in its own pid namespace: for people only, no code decides by it */
	uint64_t start_time; /* clock ticks since boot, as in /proc/PID/stat */
	uint8_t token[FABRIC_TOKEN_BYTES]; /* part of the name of its listening socket */
	char name[16];
};

/* This process; FABRIC_ID_NONE when the fabric is down. */
fabric_id_t fabric_self(void);
/* The folder of the host directory; valid while the fabric is up. */
const char *fabric_folder(void);

/* ---- processes: lock-free ---- */

/* 0, or -ESRCH when the id's process is gone. */
int fabric_process_find(fabric_id_t id, struct fabric_process *out);
/* The process in the slot; -ESRCH when the slot is free. */
int fabric_process_in_slot(uint32_t slot, struct fabric_process *out);
/* The process that has the slot, or had it last; FABRIC_ID_NONE when it was never taken. */
fabric_id_t fabric_process_last(uint32_t slot);
/* Asks the kernel: true while the process holds the lock on its byte. */
bool fabric_process_alive(fabric_id_t id);
/* Frees the slot of the process if it died. True when the id is not listed, then. */
bool fabric_process_reap(fabric_id_t id);
/* Frees the slots of all processes that died. Returns how many. Takes the lock. */
unsigned int fabric_directory_reap(void);

/* ---- counters ---- */

/*
 * One row per slot, for tools to read. The first counters are the fabric's, the rest the adapter's.
 */
enum fabric_counter {
	FABRIC_COUNT_LINKS_UP,
	FABRIC_COUNT_LINKS_DOWN,
	FABRIC_COUNT_LINKS_CORRUPT, /* links closed because the peer broke the ring's rules */
	FABRIC_COUNT_LINKS_REFUSED, /* handshakes that failed */
	FABRIC_COUNT_KICKS,         /* wake-ups sent to peers */
	FABRIC_COUNT_WAKEUPS,       /* returns of the service thread from its sleep */
	FABRIC_COUNT_TAKEOVERS,     /* times the service thread took over from polling threads */
	FABRIC_COUNT_REAPED,        /* slots of dead processes freed */
	FABRIC_COUNTERS_OWN = 12,
	FABRIC_COUNTERS = 32,
};

/* Adds to this process's row; does nothing when the fabric is down. */
void fabric_count(enum fabric_counter counter, uint64_t n);
/* A process's value; 0 when the slot is free. */
uint64_t fabric_counter_read(uint32_t slot, enum fabric_counter counter);

/* ---- inside the fabric ---- */

struct dir_file;

int fabric_directory_join(const uint8_t token[FABRIC_TOKEN_BYTES]);
/* Frees the slot; unlinks the file when no process is left. */
void fabric_directory_leave(void);
/* Leaves the directory at exit, while other threads still run: unmaps and closes nothing. */
void fabric_directory_exit(void);
/* In the child of a fork: closes the file, of which the parent keeps all locks. */
void fabric_directory_forked(void);

/* The process in a slot of the file, which need not be the one that this process is in; -ESRCH: the slot is free. */
int fabric_slot_read(struct dir_file *file, uint32_t slot, struct fabric_process *out);

/* The mapped file (dirfile.h), NULL when this process is in no directory. */
struct dir_file *fabric_directory_file(void);
/*
 * Between them only this thread, of all threads of all processes, changes the directory. -ETIMEDOUT
 * when another process has the lock for 30 s: it is stopped, or means ill.
 */
int fabric_directory_lock(void);
void fabric_directory_unlock(void);

#endif
