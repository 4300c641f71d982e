/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Multicast groups on the wire: received on every interface of a queue pair's port, including
 * interfaces that are added later; sent to by one address.
 */
#ifndef HCA_WIRE_GROUP_H
#define HCA_WIRE_GROUP_H

#include <stdbool.h>

#include "hca/wire/wire_listen_state.h"

struct hca_av;
struct hca_gid;
struct hca_list;
struct qp;
struct roce_pkt;

/* state: of the port's addresses; wire_listen.c tries again. */
int wire_group_join(struct qp *qp, const struct hca_gid *group, enum wire_listen_state *state);
void wire_group_leave(struct qp *qp, const struct hca_gid *group);
void wire_group_send(struct qp *qp, const struct hca_av *av, const struct roce_pkt *pkt,
		     const struct hca_list *list);

/* Addresses were added or removed: joins and leaves on their interfaces. */
enum wire_listen_state wire_group_update_all(void);
/* In the child of a fork: queue pairs and sockets are the parent's. */
void wire_group_free_inherited(void);

#endif
