/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A hash table with linear probing in the directory's file, all under the directory's lock. A place is
 * empty (number 0), or alive (its owner is listed), or dead. A dead place can be used again, and
 * becomes empty when the next place is empty: so a search, which ends at the first empty place, stays
 * short, and a process that dies in the middle of a change leaves at worst a dead place. One place
 * always stays empty.
 */
#include "fabric/claims.h"

#include <errno.h>
#include <string.h>

#include "fabric/directory.h"
#include "fabric/dirfile.h"
#include "fabric/service.h"
#include "util/explain.h"

#define NO_PLACE DIR_CLAIMS

_Static_assert((DIR_CLAIMS & (DIR_CLAIMS - 1)) == 0, "places wrap by a mask");

static uint32_t next_place(uint32_t place)
{
	return (place + 1) & (DIR_CLAIMS - 1);
}

static uint32_t first_place(uint32_t number)
{
	return (number * 0x9e3779b1u) >> (32 - DIR_CLAIMS_BITS);
}

static fabric_id_t owner_of(struct dir_claim *claim)
{
	return atomic_load_explicit(&claim->owner, memory_order_relaxed);
}

static bool is_alive(struct dir_file *dir, uint32_t place)
{
	return dir->claim[place].number && dir_is_listed(dir, owner_of(&dir->claim[place]));
}

/* Dead places that lie before an empty one become empty. */
static void trim(struct dir_file *dir, uint32_t place)
{
	for (uint32_t n = 0; n < DIR_CLAIMS; n++) {
		if (!dir->claim[place].number || dir->claim[next_place(place)].number ||
		    is_alive(dir, place))
			return;
		dir->claim[place].number = 0;
		dir->claims_used--;
		place = (place - 1) & (DIR_CLAIMS - 1);
	}
}

static int check_place(struct dir_claim *claim, const struct fabric_claim_check *check)
{
	struct fabric_claim other = {
		.number = claim->number,
		.flags = claim->flags,
		.scope = claim->scope,
	};

	memcpy(other.addr, claim->addr, sizeof(other.addr));
	return check->refuse(&other, check->arg);
}

/*
 * Shows the claims of other processes to the check. A refusal sets *refuser, the owner of the claim;
 * otherwise *free is a place for a new claim, or NO_PLACE.
 */
static int search(struct dir_file *dir, uint32_t number, const struct fabric_claim_check *check,
		  fabric_id_t *refuser, uint32_t *free)
{
	uint32_t place = first_place(number);

	*free = NO_PLACE;
	for (uint32_t n = 0; n < DIR_CLAIMS; n++, place = next_place(place)) {
		struct dir_claim *claim = &dir->claim[place];
		int err;

		if (!is_alive(dir, place)) {
			if (*free == NO_PLACE)
				*free = place;
			if (!claim->number) {
				trim(dir, (place - 1) & (DIR_CLAIMS - 1));
				break;
			}
			continue;
		}
		if (claim->number != number || owner_of(claim) == fabric_self())
			continue;
		err = check_place(claim, check);
		if (err) {
			*refuser = owner_of(claim);
			return err;
		}
	}
	return 0;
}

static void fill(struct dir_file *dir, struct dir_claim *claim, const struct fabric_claim *from)
{
	/* First: a process that dies here has taken away an empty place, but never the last. */
	if (!claim->number)
		dir->claims_used++;
	atomic_store_explicit(&claim->owner, FABRIC_ID_NONE, memory_order_relaxed);
	atomic_signal_fence(memory_order_seq_cst);
	claim->number = from->number;
	claim->flags = from->flags;
	claim->scope = from->scope;
	memcpy(claim->addr, from->addr, sizeof(claim->addr));
	/* A process that dies before this store has claimed nothing. */
	atomic_signal_fence(memory_order_seq_cst);
	atomic_store_explicit(&claim->owner, fabric_self(), memory_order_relaxed);
}

/* True when the process that refused is dead: it is taken from the directory, so try again. */
static bool reap(fabric_id_t refuser)
{
	return refuser && fabric_process_reap(refuser);
}

static int add_locked(const struct fabric_claim *claim, const struct fabric_claim_check *check,
		      fabric_id_t *refuser, uint32_t *handle)
{
	struct dir_file *dir = fabric_directory_file();
	uint32_t place;
	int err;

	err = search(dir, claim->number, check, refuser, &place);
	if (err)
		return err;
	if (place == NO_PLACE || (!dir->claim[place].number && dir->claims_used >= DIR_CLAIMS - 1))
		return explain(ENOSPC, "the host directory has only %u claims", DIR_CLAIMS - 1);
	fill(dir, &dir->claim[place], claim);
	*handle = place + 1;
	return 0;
}

int fabric_claim_add(const struct fabric_claim *claim, const struct fabric_claim_check *check,
		     uint32_t *handle)
{
	unsigned int tries = FABRIC_REAP_TRIES;
	fabric_id_t refuser;
	int err;

	/* The service thread keeps the process's slot. */
	err = fabric_service_start();
	if (err)
		return err;
	do {
		refuser = FABRIC_ID_NONE;
		err = fabric_directory_lock();
		if (err)
			return err;
		err = add_locked(claim, check, &refuser, handle);
		fabric_directory_unlock();
	} while (err && --tries && reap(refuser));
	return err;
}

/* The claim of the handle when it is of this process, or NULL. Locked. */
static struct dir_claim *own_claim(uint32_t handle)
{
	struct dir_claim *claim = &fabric_directory_file()->claim[handle - 1];

	return owner_of(claim) == fabric_self() ? claim : NULL;
}

int fabric_claim_set_flags(uint32_t handle, uint32_t flags, const struct fabric_claim_check *check)
{
	unsigned int tries = FABRIC_REAP_TRIES;
	struct dir_claim *claim;
	fabric_id_t refuser;
	uint32_t place;
	int err;

	do {
		refuser = FABRIC_ID_NONE;
		err = fabric_directory_lock();
		if (err)
			return err;
		claim = own_claim(handle);
		if (!claim)
			err = -ENOENT;
		else
			err = search(fabric_directory_file(), claim->number, check, &refuser,
				     &place);
		if (!err)
			claim->flags = flags;
		fabric_directory_unlock();
	} while (err && --tries && reap(refuser));
	return err;
}

void fabric_claim_remove(uint32_t handle)
{
	struct dir_claim *claim;

	if (fabric_directory_lock())
		return;
	claim = own_claim(handle);
	if (claim) {
		atomic_store_explicit(&claim->owner, FABRIC_ID_NONE, memory_order_relaxed);
		trim(fabric_directory_file(), handle - 1);
	}
	fabric_directory_unlock();
}
