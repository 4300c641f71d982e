/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * RDMA_CM_EVENT_ADDR_CHANGE: the hardware address of the interface of an id is another one than when the
 * id was bound. The kernel's RDMA CM reports that of a bond that fails over; here it is any interface.
 * The id and its connection go on.
 *
 * RDMA_CM_EVENT_DEVICE_REMOVAL: the id's adapter was unplugged. The id can only be destroyed. As with the
 * kernel's RDMA CM, a listener of the wildcard address is bound to no adapter and goes on.
 *
 * cm.lock is held.
 */
#include "cm/changes.h"

#include <string.h>

#include "cm/channel.h"
#include "cm/conn_types.h"
#include "cm/device.h"
#include "cm/id.h"
#include "cm/sidr_types.h"
#include "cm/state.h"
#include "hca/device/port.h"
#include "hca/wire/gsi.h"

#define RETRY_NS 20000000u

/*
 * A request that the program has not accepted hears of nothing, as in the kernel. An id that is being
 * destroyed reports to no channel any more.
 */
static bool hears(const struct cm_id *id)
{
	return id->channel && !(id->conn && id->conn->state == CONN_REQ_RCVD) &&
	       !(id->sidr && id->sidr->is_passive && !id->sidr->is_answered);
}

/* Without memory for an event the change is not taken in, and looked for again. */
static struct cm_event *create_event(struct cm_id *id, enum rdma_cm_event_type type)
{
	struct cm_event *event = cm_event_create(id, type, 0);

	if (!event) {
		cm.changes_due_ns = cm_now_ns() + RETRY_NS;
		hca_gsi_set_timer(cm.agent, cm.changes_due_ns);
	}
	return event;
}

static void remove_id(struct cm_id *id)
{
	struct cm_event *event = NULL;

	if (id->state == CM_REMOVED)
		return;
	if (hears(id)) {
		event = create_event(id, RDMA_CM_EVENT_DEVICE_REMOVAL);
		if (!event)
			return;
	}
	cm_id_remove(id);
	if (event)
		cm_event_post(event);
}

static void check_interface(struct cm_id *id)
{
	struct cm_event *event;
	uint8_t mac[6];

	if (!id->ifindex ||
	    !hca_port_link_address(id->device->adapter, id->pub.port_num, id->ifindex, mac) ||
	    !memcmp(mac, id->last_mac, sizeof(mac)))
		return;
	if (memcmp(mac, id->bound_mac, sizeof(mac)) != 0 && hears(id)) {
		event = create_event(id, RDMA_CM_EVENT_ADDR_CHANGE);
		if (!event)
			return;
		cm_event_post(event);
	}
	memcpy(id->last_mac, mac, sizeof(mac));
}

void cm_changes_run(void)
{
	struct cm_device *device;
	struct cm_id *id;

	cm.changes_due_ns = 0;
	cm_devices_refresh();
	STAILQ_FOREACH(device, &cm.removed, link)
		LIST_FOREACH(id, &device->ids, device_link)
			remove_id(id);
	cm_devices_free_removed();
	STAILQ_FOREACH(device, &cm.devices, link)
		LIST_FOREACH(id, &device->ids, device_link)
			check_interface(id);
}

void cm_changes_retry(uint64_t now_ns)
{
	if (!cm.changes_due_ns)
		return;
	if (now_ns >= cm.changes_due_ns)
		cm_changes_run();
	else
		hca_gsi_set_timer(cm.agent, cm.changes_due_ns);
}
