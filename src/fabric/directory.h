/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The host directory: one small file per user and network namespace that every process maps. It
 * says who is there, who owns which block of queue-pair numbers and memory keys, which LID a port
 * has, who joined which multicast group.
 *
 * Changes are made under an OFD lock on the file, which the kernel drops when its holder dies.
 * Reads take no lock. Each process holds another OFD lock on the byte of its slot for as long as it
 * lives: who can lock the byte knows that the owner is dead. Whatever an entry belongs to is named
 * by a fabric_id_t and counts only while that id stands in its slot, so burying a process is one
 * store, and a death in the middle of a change leaves nothing half visible.
 */
#ifndef FABRIC_DIRECTORY_H
#define FABRIC_DIRECTORY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "fabric/fabric.h"

#define FABRIC_TOKEN_BYTES 16

/* What a slot says of its process. */
struct fabric_process {
	fabric_id_t id;
	pid_t pid;           /* in its own pid namespace; for people, never to decide anything */
	uint64_t start_time; /* clock ticks since boot, as in /proc/PID/stat */
	uint8_t token[FABRIC_TOKEN_BYTES];
	char name[16];
};

/* ---- processes: lock-free ---- */

/* 0, or -ESRCH when the id's process is gone. */
int fabric_process_find(fabric_id_t id, struct fabric_process *out);
/* Whoever is in the slot; -ESRCH when nobody is. */
int fabric_process_in_slot(uint32_t slot, struct fabric_process *out);
/* Asks the kernel, not the pid: true while the process holds its byte. */
bool fabric_process_alive(fabric_id_t id);
/* Frees the slots of processes that died. Returns how many. Takes the lock. */
unsigned int fabric_directory_sweep(void);

/* ---- queue-pair numbers ---- */

#define FABRIC_QPN_FIRST 0x40u     /* below: special queue pairs */
#define FABRIC_QPN_LAST  0xfffffeu /* 0xffffff is multicast */
#define FABRIC_QPN_BLOCK 256u

/*
 * A block of numbers for this process: *first and how many (the outermost blocks are short).
 * Blocks come round robin, so that a number is used again as late as possible. -ENOSPC when all
 * are taken.
 */
int fabric_qpn_block_get(uint32_t *first, uint32_t *count);
/* `first` as it was handed out. -EPERM when the block is not ours. */
int fabric_qpn_block_put(uint32_t first);
/* Lock-free. FABRIC_NOBODY when the number belongs to no process. */
fabric_id_t fabric_qpn_owner(uint32_t qpn);

/* Numbers first..last, neighbouring blocks of one process. */
struct fabric_qpn_range {
	uint32_t first, last;
	fabric_id_t owner;
};

/* Lock-free. All that belong to somebody, in order, up to `max`; returns how many. */
size_t fabric_qpn_ranges(struct fabric_qpn_range *out, size_t max);

/* ---- numbers of memory keys, protection domains and device memory ---- */

#define FABRIC_KEY_FIRST 0x5u /* see hca/mr.c */
#define FABRIC_KEY_LAST  0xffffffu
#define FABRIC_KEY_BLOCK 1024u

/* As for queue pairs, and for the life of the process: a number names one object of the host. */
int fabric_key_block_get(uint32_t *first, uint32_t *count);
/* Lock-free. FABRIC_NOBODY when the number belongs to no process. */
fabric_id_t fabric_key_owner(uint32_t number);

/* ---- LIDs ---- */

#define FABRIC_LID_KEY_MAX 59

/* The same key has the same LID (1 and up) in every process for the life of the directory. */
int fabric_lid_get(const char *key, uint16_t *lid);

/* ---- the registry: keys with values and owners ---- */

enum fabric_reg_kind {
	FABRIC_REG_MCAST = 1, /* key: gid and fabric number; value: queue pair */
	FABRIC_REG_CM_PORT, /* key: service id of the connection manager and address (hca/gsi.c) */
	FABRIC_REG_XRCD,    /* key: adapter and file; value: tells openings apart */
	FABRIC_REG_STEER,   /* key: gid; value: place among the sockets at that address */
	FABRIC_REG_ETHER,   /* key: name of a switch; value: port in the owner's segment */
	FABRIC_REG_CONTEXT, /* key: id of a context that was imported; value: 0 */
	FABRIC_REG_GSI,     /* key: class of management; value: 0 */
	FABRIC_REG_KINDS,
};

#define FABRIC_REG_KEY_MAX 32

struct fabric_reg_entry {
	fabric_id_t owner;
	uint64_t value;
};

/*
 * Adds (key, value) for this process. Exclusive: -EADDRINUSE when the key has any entry of a living
 * process. Otherwise -EEXIST when this very entry is there. -ENOSPC when the table is full.
 */
int fabric_reg_add(enum fabric_reg_kind kind, const void *key, size_t len, uint64_t value,
		   bool exclusive);
/* -ENOENT when this process has no such entry. */
int fabric_reg_del(enum fabric_reg_kind kind, const void *key, size_t len, uint64_t value);
/* Lock-free. Fills up to `max` entries; returns how many there are (which may be more). */
size_t fabric_reg_find(enum fabric_reg_kind kind, const void *key, size_t len,
		       struct fabric_reg_entry *out, size_t max);
/*
 * Lock-free. Changes after every change of a kind. Read it before fabric_reg_find() to keep the
 * answer until it moves.
 */
uint64_t fabric_reg_version(enum fabric_reg_kind kind);

/* ---- multicast groups ---- */

/*
 * `net` tells fabrics apart that share group addresses (RoCE and InfiniBand, say). Joining twice
 * is joining once; leaving a group one is not in is -ENOENT.
 */
int fabric_mcast_join(uint32_t net, const uint8_t gid[16], uint32_t qpn);
int fabric_mcast_leave(uint32_t net, const uint8_t gid[16], uint32_t qpn);
/* Lock-free; as fabric_reg_find(), value is the queue pair's number. */
size_t fabric_mcast_members(uint32_t net, const uint8_t gid[16], struct fabric_reg_entry *out,
			    size_t max);

/* ---- counters ---- */

/* One row per slot, for tools to read. The first ones are the fabric's, the rest the adapter's. */
enum fabric_counter {
	FABRIC_COUNT_LINKS_UP,
	FABRIC_COUNT_LINKS_DOWN,
	FABRIC_COUNT_LINKS_CORRUPT, /* links given up because the peer broke the ring's rules */
	FABRIC_COUNT_LINKS_REFUSED, /* handshakes that failed */
	FABRIC_COUNT_KICKS,         /* wake-ups sent to peers */
	FABRIC_COUNT_WAKEUPS,       /* returns of the service thread from its sleep */
	FABRIC_COUNT_SERVES,        /* times the service thread took over from pollers */
	FABRIC_COUNT_BURIED,        /* slots of dead processes freed */
	FABRIC_COUNTERS_OWN = 12,
	FABRIC_COUNTERS = 32,
};

/* Adds to this process's row; nothing when the fabric is down. */
void fabric_count(enum fabric_counter counter, uint64_t n);
/* A process's value; 0 when there is no such process. */
uint64_t fabric_counter_read(uint32_t slot, enum fabric_counter counter);

/* ---- inside the fabric ---- */

int fabric_directory_join(const uint8_t token[FABRIC_TOKEN_BYTES]);
/* Gives the slot back; unlinks the file when nobody is left. */
void fabric_directory_leave(void);
/* The same for a process that exits with other threads running: unmaps and closes nothing. */
void fabric_directory_exit(void);

void fabric_directory_fork_prepare(void);
void fabric_directory_fork_parent(void);
void fabric_directory_fork_child(void);

#endif
