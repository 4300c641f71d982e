/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Services are entries of the host directory; ids contain the number of their process.
 */
#include "hca/wire/gsi_route.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "fabric/directory.h"
#include "fabric/epoch.h"
#include "fabric/fabric.h"
#include "fabric/registry.h"
#include "hca/hca.h"
#include "hca/peers/peer.h"
#include "hca/wire/gsi_mad.h"
#include "hca/wire/gsi_ports.h"
#include "util/explain.h"

/* Bits of an id above the slot. */
#define ID_BITS (32 - FABRIC_SLOT_BITS)
#define ID_MASK ((1u << ID_BITS) - 1)

struct service {
	uint64_t id;
	uint8_t addr[16];
};

_Static_assert(sizeof(struct service) <= FABRIC_REG_KEY_MAX, "fits the directory");

/* The low bits of an id are the directory slot of the process that chose the id. */
static fabric_id_t process_of(uint32_t id)
{
	struct fabric_process p;

	if (!id || fabric_process_in_slot(fabric_id_slot(id), &p))
		return FABRIC_ID_NONE;
	return p.id;
}

uint32_t hca_gsi_process_of(uint32_t comm_id)
{
	return fabric_process_last(fabric_id_slot(comm_id));
}

/* Messages on the wire come without a link, so that nothing would tell of the sender's death. */
bool hca_gsi_watch_process(uint32_t process)
{
	bool wait = false, up;

	if (process == fabric_self())
		return true;
	epoch_enter();
	up = hca_peer_find(process, &wait);
	epoch_exit();
	return up || wait;
}

bool hca_gsi_process_is_alive(uint32_t process)
{
	return fabric_process_alive(process);
}

static uint32_t next_id(void)
{
	uint32_t serial =
		atomic_fetch_add_explicit(&hca.wire.gsi.last_serial, 1, memory_order_relaxed) + 1;

	serial = scramble(&hca.wire.gsi.ids, serial & ID_MASK, ID_BITS);
	return serial << FABRIC_SLOT_BITS | fabric_id_slot(fabric_self());
}

uint32_t hca_gsi_comm_id(void)
{
	uint32_t id;

	do
		id = next_id();
	while (!(id >> FABRIC_SLOT_BITS));
	return id;
}

uint64_t hca_gsi_tid(void)
{
	uint32_t random;

	if (getrandom(&random, sizeof(random), GRND_NONBLOCK) != sizeof(random))
		random = next_id();
	return (uint64_t)hca_gsi_comm_id() << 32 | random;
}

static fabric_id_t find_service(uint64_t id, const uint8_t addr[16])
{
	struct service key = { .id = id };
	struct fabric_reg_entry found;

	if (addr)
		memcpy(key.addr, addr, sizeof(key.addr));
	if (fabric_reg_find(FABRIC_REG_CM_PORT, &key, sizeof(key), &found, 1))
		return found.owner;
	return FABRIC_ID_NONE;
}

/*
 * The process that listens at the address in the private data, else at the destination GID, else at all
 * addresses of the IP version, else at all.
 */
static fabric_id_t listener_of(const uint8_t *mad, const uint8_t *private_ip, const uint8_t *dgid)
{
	bool is_ip4 = private_ip[CM_IP_VERSION] >> 4 == 4;
	uint64_t id = mad_get64(mad + CM_SERVICE_ID);
	uint8_t ip[16] = { [10] = 0xff, [11] = 0xff }, all_ip6[16];
	const uint8_t all_ip4[16] = { [10] = 0xff, [11] = 0xff };
	fabric_id_t owner;

	if (is_ip4)
		memcpy(ip + 12, private_ip + 12, 4);
	else
		memcpy(ip, private_ip, sizeof(ip));
	memset(all_ip6, HCA_GSI_ALL_IP6, sizeof(all_ip6));
	owner = find_service(id, ip);
	if (!owner)
		owner = find_service(id, dgid);
	if (!owner)
		owner = find_service(id, is_ip4 ? all_ip4 : all_ip6);
	return owner ? owner : find_service(id, NULL);
}

static fabric_id_t class_of(uint8_t mgmt_class)
{
	const uint64_t key = mgmt_class;
	struct fabric_reg_entry found;

	return fabric_reg_find(FABRIC_REG_GSI, &key, sizeof(key), &found, 1) ? found.owner
									     : FABRIC_ID_NONE;
}

static fabric_id_t listed_owner(const uint8_t *mad, const uint8_t *dgid)
{
	if (mad[MAD_CLASS] != HCA_MAD_CM)
		return mad[MAD_METHOD] & MAD_METHOD_RESPONSE ? process_of(mad_get32(mad + MAD_TID))
							     : class_of(mad[MAD_CLASS]);
	switch (mad_get16(mad + MAD_ATTR)) {
	case HCA_CM_REQ:
		return listener_of(mad, mad + CM_REQ_IP, dgid);
	case HCA_CM_SIDR_REQ:
		return listener_of(mad, mad + CM_SIDR_IP, dgid);
	case HCA_CM_SIDR_REP:
		return process_of(mad_get32(mad + CM_LOCAL_ID));
	default:
		return process_of(mad_get32(mad + CM_REMOTE_ID));
	}
}

/* A process that was killed stays listed for a while; a MAD for it is answered by another one. */
fabric_id_t gsi_owner_of(const uint8_t *mad, const uint8_t *dgid)
{
	fabric_id_t owner = listed_owner(mad, dgid);

	return owner && fabric_process_alive(owner) ? owner : FABRIC_ID_NONE;
}

fabric_id_t gsi_agent_of(uint8_t mgmt_class)
{
	const uint64_t key = mgmt_class;
	struct fabric_reg_entry found[8];
	size_t count = fabric_reg_find(FABRIC_REG_GSI, &key, sizeof(key), found, array_size(found));

	for (size_t i = 0; i < count && i < array_size(found); i++)
		if (fabric_process_alive(found[i].owner))
			return found[i].owner;
	return FABRIC_ID_NONE;
}

/*
 * Peers may still answer messages of a process that had this slot before, or take a new message
 * with the same id for a repetition: the first id is random. So is their order: whoever can guess
 * both ids of a connection, and its queue pair number, can end it by a forged message.
 */
void gsi_seed_ids(void)
{
	unsigned int seed = 0;

	if (atomic_load_explicit(&hca.wire.gsi.last_serial, memory_order_relaxed))
		return;
	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) == sizeof(seed))
		atomic_store_explicit(&hca.wire.gsi.last_serial, seed, memory_order_relaxed);
	scramble_init(&hca.wire.gsi.ids);
}

static struct service service_of(uint64_t id, const uint8_t addr[16])
{
	struct service s = { .id = id };

	if (addr)
		memcpy(s.addr, addr, sizeof(s.addr));
	return s;
}

int hca_gsi_service_add(uint64_t service_id, const uint8_t addr[16])
{
	const struct service s = service_of(service_id, addr);
	int err = fabric_reg_add(FABRIC_REG_CM_PORT, &s, sizeof(s), 0, true);

	if (err)
		return explain(-err, "the service 0x%llx is offered already, or cannot be listed",
			       (unsigned long long)service_id);
	/* Addresses may have been added since the last call. */
	gsi_ports_listen();
	return 0;
}

int hca_gsi_service_del(uint64_t service_id, const uint8_t addr[16])
{
	const struct service s = service_of(service_id, addr);

	return fabric_reg_del(FABRIC_REG_CM_PORT, &s, sizeof(s), 0);
}

bool hca_gsi_service_offered(uint64_t service_id, const uint8_t addr[16])
{
	return find_service(service_id, addr) != FABRIC_ID_NONE;
}
