/* SPDX-License-Identifier: BSD-2-Clause */
/* Flow rules of the RDMA tables (FLOW_RDMA_* of ether/flow_types.h) on packets of queue pairs. */
#ifndef HCA_RDMA_STEER_H
#define HCA_RDMA_STEER_H

/* The number of rules has changed (ether_port_set_rdma_changed()). */
void rdma_steer_update(void);

#endif
