/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The network beyond this host, as the transport sees it: struct hca has one, the wire, unless a test
 * hands in another. Calls return 0 or -errno, explained, and have the QP's lock held.
 */
#ifndef HCA_NETWORK_H
#define HCA_NETWORK_H

#include <stdbool.h>
#include <stdint.h>

struct hca_av;
struct hca_gid;
struct hca_list;
struct qp;
struct roce_pkt;

struct network {
	/* Every path takes the network, also to peers on this host. */
	bool (*is_forced)(void);
	/* Whether the path can be opened from this port and address. */
	int (*check)(const struct qp *qp, unsigned int port_num, const struct hca_av *av);
	/* Whether packets may leave from this UDP source port. */
	int (*check_sport)(const struct qp *qp, const struct hca_av *av, uint16_t port);
	/* Opens the path and sets qp->carrier and qp->read_bytes_most. */
	int (*connect)(struct qp *qp, const struct hca_av *av);
	/* A datagram QP receives at every address of its port. */
	void (*listen)(struct qp *qp);
	/* The QP ends, or is reset: the network keeps no pointer to it. */
	void (*forget)(struct qp *qp);
	int (*join)(struct qp *qp, const struct hca_gid *group);
	void (*leave)(struct qp *qp, const struct hca_gid *group);
	void (*send_group)(struct qp *qp, const struct hca_av *av, const struct roce_pkt *pkt,
			   const struct hca_list *list);
};

#endif
