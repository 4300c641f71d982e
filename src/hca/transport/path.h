/* SPDX-License-Identifier: BSD-2-Clause */
/* From an address to a link or a carrier; see path.c. Lock held, inside an epoch section. */
#ifndef HCA_PATH_H
#define HCA_PATH_H

#include "hca/transport/qp_types.h"

enum path_state {
	PATH_READY,
	PATH_WAIT, /* link being made */
	PATH_NONE, /* no such process: what is sent is lost */
};

/* Finds the other end of a connected queue pair. */
enum path_state path_find(struct qp *qp);
static inline enum path_state path_connected(struct qp *qp)
{
	if (qp->remote || (qp->peer && likely(hca_peer_is_up(qp->peer))))
		return PATH_READY;
	return path_find(qp);
}

/* False: no port has the LID that a connected queue pair sends to. With a GRH, LID 0 is any port. */
bool path_exists(const struct qp *qp);

/* `*out` is NULL for a destination beyond this host. */
enum path_state path_datagram(struct qp *qp, const struct hca_av *av, uint32_t dqpn,
			      struct hca_peer **out);
bool path_gid_is_local(struct qp *qp, const struct hca_gid *gid);
/* Opens the path to another host. 0 or -errno, explained. */
int path_connect_remote(struct qp *qp, const struct hca_av *av);

#endif
