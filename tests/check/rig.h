/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the small programs of docs/checker.md start from: an open device, and two queue pairs of it that are
 * connected to each other. The programs are written for the reader; a failure ends them.
 */
#ifndef CHECK_RIG_H
#define CHECK_RIG_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define QUEUE   8 /* requests in each queue of the queue pairs */
#define MESSAGE 64

struct rig {
	struct ibv_context *context;
	struct ibv_comp_channel *channel;
	struct ibv_pd *pd;
	struct ibv_cq *cq; /* of both queue pairs, with an event channel */
	struct ibv_qp *a, *b;
	char *buffer; /* of 64 KiB; the second half is for what arrives */
	char *inbox;
	struct ibv_mr *mr;
};

/* Attributes of the connection; programs change them before they connect. */
struct rig_path {
	int gid_index; /* -1: that of the first RoCE v2 address, or 0 on InfiniBand */
	uint8_t timeout, rnr_retry;
	uint8_t max_rd_atomic, max_dest_rd_atomic;
	enum ibv_mtu mtu;
};

extern const struct rig_path rig_usual_path;

/* Ends the program with a message unless `ok`. */
void must(bool ok, const char *what);

struct ibv_qp *rig_create_qp(struct rig *r, enum ibv_qp_type type, struct ibv_cq *cq);
/* Connects both queue pairs, which are new or in RESET. */
void rig_connect(struct rig *r, const struct rig_path *path);
/* To RTS, for datagrams. */
void rig_activate(struct rig *r, struct ibv_qp *qp);
/* The address of this port itself. */
struct ibv_ah_attr rig_address(const struct rig *r, int gid_index);

/* On b, at `to`; on a, from `from`. Of MESSAGE bytes. */
void post_receive(struct rig *r, void *to);
void post_send(struct rig *r, const void *from, unsigned int flags);
/* Polls until `count` completions have come; returns the status of the last one. */
enum ibv_wc_status wait_for(struct rig *r, int count);

/* The program proper. */
void run(struct rig *r);

#endif
