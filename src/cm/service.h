/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Service ids of the port spaces (IBTA annex A11), and the services that listening ids offer to the
 * host: requests for them come to this process.
 */
#ifndef CM_SERVICE_H
#define CM_SERVICE_H

#include <stdint.h>

#include "cm/id_types.h"

/* The service id of an address in the id's port space. */
uint64_t cm_service_id(const struct cm_id *id, const struct sockaddr *addr);
/* The port space of a service id; 0 when it is of none. */
enum rdma_port_space cm_service_port_space(uint64_t service_id);

/*
 * With cm.lock held. -EADDRINUSE: an id of another process of the host offers the service at this
 * address.
 */
int cm_service_offer(struct cm_id *id);
/* Does nothing when the id offers none. */
void cm_service_withdraw(struct cm_id *id);

#endif
