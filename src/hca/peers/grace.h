/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Grace periods across processes: until the epoch sections (fabric/epoch.h) that are open in this
 * process and in its peers are over. Memory that peers may access is out of use only then.
 */
#ifndef HCA_GRACE_H
#define HCA_GRACE_H

#include <stdbool.h>
#include <stddef.h>

#include "hca/peers/open_section.h"

struct grace_period;
struct hca_peer;

/* Waits for the sections of this process and of every linked peer; not inside of one. */
void epoch_wait_all(void);

/*
 * The same, but peers that are stopped, by a signal or a debugger, are not waited for. Returns the number of sections
 * that are open in such peers, and copies up to `most` of them: the caller keeps their accesses away from memory that is
 * in use.
 */
size_t epoch_wait_running(struct open_section *open, size_t most);
/* As epoch_wait_running(), for the sections of all peers (FABRIC_ID_NONE) or of one peer, not of this process. */
size_t grace_wait_peers(fabric_id_t only, struct open_section *open, size_t most);
/*
 * Until copies by the kernel of these sections are over: those of a stopped peer that are guarded
 * (hca/memory/vm_copy.h) are, if what they look at has changed before this call. Others are waited
 * for, for 2 s; then the peer loses its link.
 */
void grace_wait_copies(const struct open_section *open, size_t count);
/* The section has ended, or its process has. Inside a section, or with a lock that keeps peers from going. */
bool open_section_is_over(const struct open_section *open);

/*
 * For a thread that is inside a section and so cannot wait, such as a requester that has invalidated
 * a memory window. Begins a grace period that the caller ends with free(); its own section does not
 * count. *out is NULL when no other section is open. `only`: the one process that can have found the
 * memory; NULL: all, this one included. -ENOMEM.
 */
int grace_begin(const struct hca_peer *only, struct grace_period **out);

/* Inside a section. A peer that is stopped in a section loses its link in the end. */
bool grace_has_passed(const struct grace_period *grace);

#endif
