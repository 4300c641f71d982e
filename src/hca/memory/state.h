/* SPDX-License-Identifier: BSD-2-Clause */
/* The state of this room (struct hca, hca/hca.h). Types only. */
#ifndef HCA_MEMORY_STATE_H
#define HCA_MEMORY_STATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "hca/device/adapter.h"
#include "hca/device/crypto.h"
#include "hca/device/signature.h"
#include "hca/device/table.h"
#include "hca/peers/open_section.h"

#define MR_SHARE_DEBTS 64

/* A section of a peer that was stopped while a region of this range was deregistered (mr_share.c). */
struct mr_share_debt {
	uintptr_t start, end;
	struct open_section section;
};

/* Regions of a range that were deregistered soon after their registration (mr_defer.c). */
#define MR_LIVES 64

struct mr_lives {
	uintptr_t start, end;
	uint64_t ended_ns; /* the last one */
	uint32_t count;    /* short ones in a row; 0: the entry is free */
};

struct hca_mr;

TAILQ_HEAD(mr_defer_list, hca_mr);

struct dm_op_mapping;
struct dm_op_handler;
struct hca_login;
struct hca_secret;
struct libcrypto;

/* An error of a key's signatures, until it is reported (signature_error.h). */
struct signature_error {
	struct hca_sig_error error;
	pthread_t thread; /* that moved the data */
	bool listed;
	LIST_ENTRY(signature_error) link;
};

/* Tables hold the objects of this process by the number that is their key's index. */
struct memory_state {
	struct {
		pthread_mutex_t lock;
		struct hca_numbers numbers; /* of the blocks that the host directory gave us */
		uint64_t secret; /* of the order of numbers and the variants of keys; 0: none yet */
	} key;

	struct {
		pthread_mutex_t lock; /* guards the table, references and the end of a domain */
		struct hca_table table;
	} pd;

	struct {
		pthread_mutex_t lock; /* guards references and the end of a region */
		struct hca_table table;
	} mr;

	/* mr_share.h */
	struct {
		pthread_mutex_t lock;        /* guards the rest, and claims of regions */
		_Atomic uint32_t generation; /* odd: suspended; written under the lock */
		unsigned int forks;          /* that have begun and not ended */
		uint64_t resume_ns;          /* when memory is shared again */
		/* Ranges that are not shared while a stopped peer may still access the pages they had. */
		struct mr_share_debt debt[MR_SHARE_DEBTS];
		unsigned int debts;
		struct mr_lives lives[MR_LIVES];
		/* Regions that are not shared yet, the next one first; the count is read without the lock. */
		struct mr_defer_list deferred;
		atomic_uint deferred_count;
	} share;

	struct {
		pthread_mutex_t lock; /* guards the table and all bindings */
		struct hca_table table;
	} mw;

	struct {
		pthread_mutex_t lock; /* guards the table and all changes of keys */
		struct hca_table table;
	} mkey;

	struct {
		pthread_mutex_t lock; /* guards the numbers */
		struct hca_numbers numbers;
		struct hca_table table;
	} psv;

	struct {
		pthread_mutex_t lock; /* leaf; guards the list */
		atomic_uint errors;   /* in the list */
		LIST_HEAD(, signature_error) list;
	} signature;

	struct {
		pthread_mutex_t lock; /* guards the rest, and references */
		uint64_t used[HCA_ADAPTERS_MAX];
		struct hca_table table;
	} dm;

	struct {
		pthread_mutex_t lock; /* guards changes; the signal handler reads without a lock */
		_Atomic(struct dm_op_mapping *) mappings;
		_Atomic(struct dm_op_handler *) next_handler; /* of SIGBUS; called after ours */
		SLIST_HEAD(, dm_op_handler) handlers;         /* never freed */
		int empty_fd; /* a file of 0 bytes: every access to its mapping is a SIGBUS; or -1 */
	} dm_op;

	struct {
		pthread_mutex_t lock;
		bool started;
	} copy_server;

	struct {
		pthread_mutex_t load_lock; /* guards lib */
		struct libcrypto *lib;     /* NULL until it is loaded */
		pthread_mutex_t lock;      /* guards the rest, and references of DEKs */
		struct hca_numbers numbers;
		struct hca_table deks;
		uint32_t last_secret;
		LIST_HEAD(, hca_login) logins;
		LIST_HEAD(, hca_secret) secrets; /* import KEKs and credentials */
	} crypto;
};

#define MEMORY_STATE_INIT                                                                          \
	{                                                                                          \
		.key.lock = PTHREAD_MUTEX_INITIALIZER, .pd.lock = PTHREAD_MUTEX_INITIALIZER,       \
		.mr.lock = PTHREAD_MUTEX_INITIALIZER, .mw.lock = PTHREAD_MUTEX_INITIALIZER,        \
		.share.lock = PTHREAD_MUTEX_INITIALIZER,                                           \
		.share.deferred = TAILQ_HEAD_INITIALIZER(hca.memory.share.deferred),               \
		.mkey.lock = PTHREAD_MUTEX_INITIALIZER, .dm.lock = PTHREAD_MUTEX_INITIALIZER,      \
		.dm_op.lock = PTHREAD_MUTEX_INITIALIZER, .dm_op.empty_fd = -1,                     \
		.copy_server.lock = PTHREAD_MUTEX_INITIALIZER,                                     \
		.crypto.load_lock = PTHREAD_MUTEX_INITIALIZER,                                     \
		.crypto.lock = PTHREAD_MUTEX_INITIALIZER,                                          \
		.crypto.numbers = { .first = 1, .limit = 1u << HCA_LOG_DEKS },                     \
		.psv.lock = PTHREAD_MUTEX_INITIALIZER,                                             \
		.psv.numbers = { .first = 1, .limit = 1u << 20 },                                  \
		.signature.lock = PTHREAD_MUTEX_INITIALIZER,                                       \
	}

#endif
