/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The process of the host that a management datagram is for: services that processes offer, and ids
 * that contain their process.
 */
#ifndef HCA_GSI_ROUTE_H
#define HCA_GSI_ROUTE_H

#include <stdbool.h>
#include <stdint.h>

#include "fabric/id.h"
#include "util/api.h"

/*
 * A service that this process offers: REQ and SIDR_REQ for it come here. `addr` is the IP address
 * that it is offered at, as a GID (IPv4 mapped), or NULL for all. 0.0.0.0 is for all of IPv4, bytes
 * of HCA_GSI_ALL_IP6 for all of IPv6. -EADDRINUSE when a process of the host has that very one.
 */
#define HCA_GSI_ALL_IP6 0xff
VB_API int hca_gsi_service_add(uint64_t service_id, const uint8_t addr[16]);
VB_API int hca_gsi_service_del(uint64_t service_id, const uint8_t addr[16]);
/* Whether a process of the host offers that very one. */
VB_API bool hca_gsi_service_offered(uint64_t service_id, const uint8_t addr[16]);

/* Ids for messages of this process: answers that carry them come back here. Never 0. */
VB_API uint32_t hca_gsi_comm_id(void);
VB_API uint64_t hca_gsi_tid(void);
/*
 * The process of this host that an id of hca_gsi_comm_id() was made by, or one that has taken its slot since; 0:
 * none. No two processes have one number.
 */
VB_API uint32_t hca_gsi_process_of(uint32_t comm_id);
/*
 * Whether the end of the process will be told by gone(): there is a link with it, or one is made now. False: the process
 * has died, or cannot be reached for the moment.
 */
VB_API bool hca_gsi_watch_process(uint32_t process);
VB_API bool hca_gsi_process_is_alive(uint32_t process);

/* FABRIC_ID_NONE: no process wants it. dgid is the GID that it was sent to. */
fabric_id_t gsi_owner_of(const uint8_t *mad, const uint8_t *dgid);

/* A process of the host with an agent for the class; FABRIC_ID_NONE: there is none. */
fabric_id_t gsi_agent_of(uint8_t mgmt_class);

/* Once, before the first id. */
void gsi_seed_ids(void);

#endif
