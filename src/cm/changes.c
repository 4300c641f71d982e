/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * RDMA_CM_EVENT_ADDR_CHANGE: the hardware address of the interface of an id is another one than when the
 * id was bound. The kernel's RDMA CM reports that of a bond that fails over; here it is any interface.
 * The id and its connection go on. cm.lock is held.
 */
#include "cm/changes.h"

#include <string.h>

#include "cm/channel.h"
#include "cm/conn_types.h"
#include "cm/device.h"
#include "cm/id_types.h"
#include "cm/sidr_types.h"
#include "cm/state.h"
#include "hca/device/port.h"

/*
 * A request that the program has not accepted hears of nothing, as in the kernel. An id that is being
 * destroyed reports to no channel any more.
 */
static bool hears(const struct cm_id *id)
{
	return id->channel && !(id->conn && id->conn->state == CONN_REQ_RCVD) &&
	       !(id->sidr && id->sidr->is_passive && !id->sidr->is_answered);
}

static void tell(struct cm_id *id, enum rdma_cm_event_type type)
{
	struct cm_event *event = hears(id) ? cm_event_create(id, type, 0) : NULL;

	if (event)
		cm_event_post(event);
}

static void check_interface(struct cm_id *id)
{
	uint8_t mac[6];

	if (!id->ifindex ||
	    !hca_port_link_address(id->device->adapter, id->pub.port_num, id->ifindex, mac) ||
	    !memcmp(mac, id->last_mac, sizeof(mac)))
		return;
	memcpy(id->last_mac, mac, sizeof(mac));
	if (memcmp(mac, id->bound_mac, sizeof(mac)) != 0)
		tell(id, RDMA_CM_EVENT_ADDR_CHANGE);
}

void cm_changes_run(void)
{
	struct cm_device *device;
	struct cm_id *id;

	STAILQ_FOREACH(device, &cm.devices, link)
		LIST_FOREACH(id, &device->ids, device_link)
			check_interface(id);
}
