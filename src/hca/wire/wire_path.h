/* SPDX-License-Identifier: BSD-2-Clause */
/* Paths of queue pairs over the wire. Calls return 0 or -errno, explained. */
#ifndef HCA_WIRE_PATH_H
#define HCA_WIRE_PATH_H

#include <stdint.h>

struct hca_av;
struct qp;

/* Whether a path can be opened from this port and address. */
int wire_path_check(const struct qp *qp, unsigned int port_num, const struct hca_av *av);
/* Whether packets can leave from this UDP source port, which is then open. */
int wire_path_check_sport(const struct qp *qp, const struct hca_av *av, uint16_t port);
/* Makes qp->wire the path to the address vector's destination. The QP's lock is held. */
int wire_path_connect(struct qp *qp, const struct hca_av *av);

/* A bonded link went up or down: connected queue pairs move. By the service thread. */
void wire_path_follow_links(void);

#endif
