/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Port state and GID tables. One lock guards all tables; they are small and read on control paths
 * only.
 *
 * On Ethernet a table is laid out as a ConnectX lays it out: entries 0 and 1 are the link-local
 * GID made from the hardware address (RoCE v1, then v2), then a pair for every address. An address
 * that goes leaves an empty pair, which the next newcomer takes; others never move.
 */
#include "hca/device/port.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "fabric/service.h"
#include "hca/device/adapter_list.h"
#include "hca/device/async.h"
#include "hca/device/interfaces.h"
#include "hca/device/lag.h"
#include "hca/device/lid.h"
#include "hca/hca.h"
#include "util/explain.h"

bool hca_gid_is_empty(const struct hca_gid *gid)
{
	static const struct hca_gid zero;

	return !memcmp(gid, &zero, sizeof(zero));
}

void hca_port_wake_on_change(void)
{
	atomic_store(&hca.device.port.wake_on_change, true);
}

static uint64_t port_guid(const struct hca_adapter *a, int port)
{
	return a->node_guid + port;
}

static void put_be64(uint8_t *to, uint64_t v)
{
	for (int i = 7; i >= 0; i--, v >>= 8)
		to[i] = v;
}

/* The interface identifier of RFC 4291: ff:fe in the middle, the universal bit inverted. */
static void link_local_gid(const uint8_t mac[6], struct hca_gid *gid)
{
	const uint8_t raw[16] = { 0xfe,       0x80,   0,      0,    0,    0,      0,      0,
				  mac[0] ^ 2, mac[1], mac[2], 0xff, 0xfe, mac[3], mac[4], mac[5] };

	memcpy(gid->raw, raw, sizeof(raw));
}

/* The entries that a port should have, in order. */
struct wanted {
	const struct hca_adapter *a;
	int count;
	struct hca_gid_entry *entries; /* room for the table's length */
};

static void want(struct wanted *w, const struct hca_gid *gid, enum hca_gid_type type,
		 const struct host_interface *i)
{
	if (w->count == (int)w->a->limits.gid_table_len)
		return;
	for (int k = 0; k < w->count; k++)
		if (w->entries[k].type == type && !memcmp(&w->entries[k].gid, gid, sizeof(*gid)))
			return;
	w->entries[w->count] = (struct hca_gid_entry){
		.gid = *gid,
		.type = type,
		.ifindex = i ? i->index : 0,
		.mtu = i ? i->mtu : 0,
	};
	if (i)
		memcpy(w->entries[w->count].mac, i->mac, sizeof(i->mac));
	w->count++;
}

static void want_pair(struct wanted *w, const struct hca_gid *gid, const struct host_interface *i)
{
	/* Half a pair at the end of the table would be torn apart later. */
	if (w->count + 2 > (int)w->a->limits.gid_table_len)
		return;
	want(w, gid, HCA_GID_ROCE_V1, i);
	want(w, gid, HCA_GID_ROCE_V2, i);
}

static const struct host_interface *choose_base(const struct hca_port_config *cfg,
						const struct host_picture *pic)
{
	const struct host_interface *fallback = NULL;

	for (int i = 0; i < pic->interface_count; i++) {
		const struct host_interface *itf = &pic->interfaces[i];

		if (cfg->interface[0]) {
			if (!strcmp(itf->name, cfg->interface))
				return itf;
		} else if (itf->loopback) {
			if (itf->up)
				fallback = itf;
		} else if (itf->up) {
			return itf;
		}
	}
	return fallback;
}

static bool belongs(const struct hca_port_config *cfg, const struct host_interface *base,
		    const struct host_interface *i)
{
	if (i == base)
		return true;
	if (cfg->interface[0])
		return !strcmp(i->lower, cfg->interface);
	return i->up && !i->loopback;
}

static void want_ethernet(struct wanted *w, const struct hca_port_config *cfg, int port,
			  const struct host_picture *pic, struct host_interface *base_out)
{
	const struct host_interface *base = choose_base(cfg, pic);
	static const uint8_t no_mac[6];
	struct hca_gid gid;

	if (base) {
		*base_out = *base;
		if (!memcmp(base->mac, no_mac, sizeof(no_mac))) {
			uint8_t guid[8];

			/* Loopback has no hardware address; the port's GUID lends one. */
			put_be64(guid, port_guid(w->a, port));
			memcpy(base_out->mac, guid, 3);
			memcpy(base_out->mac + 3, guid + 5, 3);
		}
	}
	for (int i = 0; i < cfg->gid_count; i++)
		want_pair(w, &cfg->gids[i], base);
	if (cfg->gid_count || !base)
		return;
	link_local_gid(base_out->mac, &gid);
	want_pair(w, &gid, base);
	for (int i = 0; i < pic->address_count; i++) {
		const struct host_interface *of = host_interface_find(pic, pic->addresses[i].index);

		if (of && belongs(cfg, base, of))
			want_pair(w, &pic->addresses[i].gid, of);
	}
}

static void want_infiniband(struct wanted *w, const struct hca_port_config *cfg, int port)
{
	struct hca_gid gid = { .raw = { 0xfe, 0x80 } };

	put_be64(gid.raw + 8, port_guid(w->a, port));
	want(w, &gid, HCA_GID_IB, NULL);
	for (int i = 0; i < cfg->gid_count; i++)
		want(w, &cfg->gids[i], HCA_GID_IB, NULL);
}

static bool same_entry(const struct hca_gid_entry *x, const struct hca_gid_entry *y)
{
	return x->type == y->type && !memcmp(&x->gid, &y->gid, sizeof(x->gid));
}

/* The service thread tells the agents of queue pair 1 (wire/gsi.c). */
static void note_link_change(void)
{
	atomic_fetch_add(&hca.device.changes, 1);
	if (hca.device.port.watch_fd >= 0)
		hca_wake_at(hca_now_ns());
}

/* Brings the table to what is wanted without moving what stays. True when anything changed. */
static bool merge(struct port_table *t, const struct wanted *w)
{
	int len = w->a->limits.gid_table_len;
	bool changed = false;

	for (int i = 0; i < len; i++) {
		struct hca_gid_entry *e = &t->entries[i];
		int k;

		if (hca_gid_is_empty(&e->gid))
			continue;
		for (k = 0; k < w->count && !same_entry(e, &w->entries[k]); k++)
			;
		if (k == w->count) {
			memset(e, 0, sizeof(*e));
			changed = true;
		} else {
			/* the address may have moved to another interface */
			changed |= e->ifindex != w->entries[k].ifindex;
			if (memcmp(e->mac, w->entries[k].mac, sizeof(e->mac)) != 0)
				note_link_change();
			*e = w->entries[k];
		}
	}
	for (int k = 0; k < w->count; k++) {
		int at = -1, i;

		for (i = 0; i < len && !same_entry(&t->entries[i], &w->entries[k]); i++)
			if (at < 0 && hca_gid_is_empty(&t->entries[i].gid))
				at = i;
		if (i == len && at >= 0) {
			t->entries[at] = w->entries[k];
			changed = true;
		}
	}
	return changed;
}

/* Loopback, the fallback of ports without another interface, does not count as a link. */
static bool has_link(const struct port_table *t)
{
	return t->up && t->base.index && !t->base.loopback;
}

/* A lost link is reported as PORT_ERR, also where the port falls back to loopback. */
static void tell(const struct hca_adapter *a, int port, bool was_up, bool had_link, bool changed)
{
	const struct port_table *t = &hca.device.port.table[a->index][port - 1];
	bool lost = had_link && !has_link(t);

	if (was_up && (!t->up || lost))
		hca_async_post_port(a, HCA_EVENT_PORT_ERR, port);
	if (t->up && (!was_up || lost || (!had_link && has_link(t))))
		hca_async_post_port(a, HCA_EVENT_PORT_ACTIVE, port);
	if (changed) {
		hca_async_post_port(a, HCA_EVENT_GID_CHANGE, port);
		if (atomic_load(&hca.device.port.wake_on_change))
			hca_wake_at(hca_now_ns());
	}
}

static void rebuild_port(const struct hca_adapter *a, int port, const struct host_picture *pic,
			 struct hca_gid_entry *scratch)
{
	struct port_table *t = &hca.device.port.table[a->index][port - 1];
	const struct hca_port_config *cfg = &a->ports[port - 1];
	struct wanted w = { .a = a, .entries = scratch };
	bool was_up = t->up, had_link = has_link(t), first = !t->built, changed;

	if (first) {
		t->entries = calloc(a->limits.gid_table_len, sizeof(*t->entries));
		if (!t->entries)
			return;
		t->built = true;
	}
	memset(&t->base, 0, sizeof(t->base));
	if (cfg->link == HCA_LINK_INFINIBAND) {
		want_infiniband(&w, cfg, port);
		t->up = true;
	} else {
		want_ethernet(&w, cfg, port, pic, &t->base);
		t->up = t->base.index && t->base.up;
	}
	changed = merge(t, &w);
	if (changed)
		atomic_fetch_add(&hca.device.port.gid_changes, 1);
	if (!first)
		tell(a, port, was_up, had_link, changed);
}

static void rebuild_all(void)
{
	const struct hca_adapter *const *list;
	struct hca_gid_entry *scratch;
	struct host_picture pic;
	uint64_t longest = 1;
	int count;

	if (hca_adapters_get(&list, &count) || host_picture_take(&pic))
		return;
	for (int i = 0; i < count; i++)
		if (list[i]->limits.gid_table_len > longest)
			longest = list[i]->limits.gid_table_len;
	scratch = calloc(longest, sizeof(*scratch));
	for (int i = 0; scratch && i < count; i++)
		for (int port = 1; port <= list[i]->port_count; port++)
			rebuild_port(list[i], port, &pic, scratch);
	for (int i = 0; i < count; i++)
		if (lag_update(list[i], &pic)) {
			/* Paths are made anew. */
			atomic_fetch_add(&hca.device.port.gid_changes, 1);
			if (atomic_load(&hca.device.port.wake_on_change))
				hca_wake_at(hca_now_ns());
		}
	free(scratch);
	host_picture_free(&pic);
}

/* Call with the lock held, before a table is read. */
static void bring_up_to_date(const struct hca_adapter *a)
{
	if (hca.device.port.watch_fd < 0 || host_watch_drain(hca.device.port.watch_fd) ||
	    !hca.device.port.table[a->index][0].built)
		rebuild_all();
}

/*
 * Two readers of one netlink socket would each see half of the reports. The child has no socket
 * until it opens a context; until then every query reads the interfaces. The lock is held.
 */
void hca_port_forked(void)
{
	if (hca.device.port.watch_fd >= 0)
		close(hca.device.port.watch_fd);
	hca.device.port.watch_fd = -1;
	atomic_store(&hca.device.port.wake_on_change, false);
}

static void changed(void *arg, uint32_t events)
{
	hca_port_refresh();
}

void hca_port_watch(void)
{
	pthread_mutex_lock(&hca.device.port.lock);
	if (hca.device.port.watch_fd < 0) {
		hca.device.port.watch_fd = host_watch_open();
		/* Changes are reported from here on, relative to the tables of this moment. */
		rebuild_all();
		if (hca.device.port.watch_fd >= 0 &&
		    fabric_service_add_fd(hca.device.port.watch_fd, EPOLLIN, changed, NULL))
			explain_note(
				"the interfaces cannot be watched; events of ports come with the "
				"next query only");
	}
	pthread_mutex_unlock(&hca.device.port.lock);
}

void hca_port_refresh(void)
{
	pthread_mutex_lock(&hca.device.port.lock);
	if (hca.device.port.watch_fd < 0 || host_watch_drain(hca.device.port.watch_fd))
		rebuild_all();
	pthread_mutex_unlock(&hca.device.port.lock);
}

static int check_port(const struct hca_adapter *a, unsigned int port)
{
	if (port < 1 || port > (unsigned int)a->port_count)
		return explain(EINVAL, "port %u does not exist; %s has port%s 1%s%.0d", port,
			       a->name, a->port_count > 1 ? "s" : "",
			       a->port_count > 1 ? " to " : "",
			       a->port_count > 1 ? a->port_count : 0);
	return 0;
}

/* Largest path MTU whose packets fit: the headers of the worst case take 96 bytes. */
static uint8_t mtu_code(uint32_t interface_mtu)
{
	for (uint8_t code = 5; code > 1; code--)
		if (interface_mtu >= (128u << code) + 96)
			return code;
	return 1;
}

int hca_port_query(const struct hca_adapter *a, unsigned int port, struct hca_port_attr *out)
{
	struct port_table *t;
	int err = check_port(a, port);

	if (err)
		return err;
	pthread_mutex_lock(&hca.device.port.lock);
	bring_up_to_date(a);
	t = &hca.device.port.table[a->index][port - 1];
	*out = (struct hca_port_attr){
		.state = t->up ? HCA_PORT_ACTIVE : HCA_PORT_DOWN,
		.link = a->ports[port - 1].link,
		.phys_state = t->up ? 5 : 3,
		.max_mtu = 5,
		.gid_table_len = a->limits.gid_table_len,
		.pkey_table_len = a->limits.pkey_table_len,
		.max_msg_size = a->limits.max_msg_size,
		.active_width = a->model->lanes == 2 ? HCA_WIDTH_2X : HCA_WIDTH_4X,
		.active_speed = a->model->active_speed,
		.speed_mbps = a->model->lanes * a->model->lane_mbps,
		.ifindex = t->base.index,
	};
	if (out->link == HCA_LINK_ETHERNET) {
		out->active_mtu = mtu_code(t->base.mtu);
		memcpy(out->mac, t->base.mac, sizeof(out->mac));
		snprintf(out->interface, sizeof(out->interface), "%s", t->base.name);
	} else {
		out->active_mtu = 5;
	}
	pthread_mutex_unlock(&hca.device.port.lock);
	if (out->link == HCA_LINK_INFINIBAND)
		return hca_lid_get(a, port, &out->lid, &out->sm_lid);
	return 0;
}

int hca_port_gid(const struct hca_adapter *a, unsigned int port, unsigned int index,
		 struct hca_gid_entry *out)
{
	int err = check_port(a, port);

	if (err)
		return err;
	if (index >= a->limits.gid_table_len)
		return explain(EINVAL,
			       "GID index %u does not exist; the table of %s has %llu entries",
			       index, a->name, (unsigned long long)a->limits.gid_table_len);
	pthread_mutex_lock(&hca.device.port.lock);
	bring_up_to_date(a);
	if (hca.device.port.table[a->index][port - 1].built)
		*out = hca.device.port.table[a->index][port - 1].entries[index];
	else
		err = -ENOMEM;
	pthread_mutex_unlock(&hca.device.port.lock);
	return err;
}

int hca_port_gid_tables(const struct hca_adapter *a, struct hca_gid_entry *out)
{
	size_t len = a->limits.gid_table_len;
	int err = 0;

	pthread_mutex_lock(&hca.device.port.lock);
	bring_up_to_date(a);
	for (int i = 0; i < a->port_count && !err; i++) {
		if (hca.device.port.table[a->index][i].built)
			memcpy(out + i * len, hca.device.port.table[a->index][i].entries,
			       len * sizeof(*out));
		else
			err = -ENOMEM;
	}
	pthread_mutex_unlock(&hca.device.port.lock);
	return err;
}

int hca_port_gid_find(const struct hca_adapter *a, unsigned int port, const struct hca_gid *gid,
		      enum hca_gid_type type)
{
	const struct port_table *t = &hca.device.port.table[a->index][port - 1];
	int found = -ENOENT;

	pthread_mutex_lock(&hca.device.port.lock);
	bring_up_to_date(a);
	for (uint64_t i = 0; t->built && i < a->limits.gid_table_len && found < 0; i++)
		if (t->entries[i].type == type && !memcmp(&t->entries[i].gid, gid, sizeof(*gid)))
			found = i;
	pthread_mutex_unlock(&hca.device.port.lock);
	return found;
}

int hca_port_pkey(const struct hca_adapter *a, unsigned int port, unsigned int index, uint16_t *out)
{
	int err = check_port(a, port);

	if (err)
		return err;
	if (index >= a->limits.pkey_table_len)
		return explain(EINVAL,
			       "P_Key index %u does not exist; the table of %s has %llu entries",
			       index, a->name, (unsigned long long)a->limits.pkey_table_len);
	*out = index ? 0 : 0xffff;
	return 0;
}

bool hca_port_gid_quick(const struct hca_adapter *a, unsigned int port, unsigned int index,
			struct hca_gid_entry *out)
{
	const struct port_table *t = &hca.device.port.table[a->index][port - 1];
	bool found = false;

	pthread_mutex_lock(&hca.device.port.lock);
	if (t->built && index < a->limits.gid_table_len &&
	    !hca_gid_is_empty(&t->entries[index].gid)) {
		*out = t->entries[index];
		found = true;
	}
	pthread_mutex_unlock(&hca.device.port.lock);
	return found;
}

uint32_t hca_port_mac_quick(const struct hca_adapter *a, unsigned int port, uint8_t mac[6])
{
	const struct host_interface *base = &hca.device.port.table[a->index][port - 1].base;
	uint32_t mtu;

	pthread_mutex_lock(&hca.device.port.lock);
	memcpy(mac, base->mac, 6);
	mtu = base->mtu;
	pthread_mutex_unlock(&hca.device.port.lock);
	return mtu ? 128u << mtu_code(mtu) : 4096; /* 0: not read yet */
}

bool hca_port_link_address(const struct hca_adapter *a, unsigned int port, uint32_t ifindex,
			   uint8_t mac[6])
{
	const struct port_table *t = &hca.device.port.table[a->index][port - 1];
	bool found = false;

	pthread_mutex_lock(&hca.device.port.lock);
	for (uint64_t i = 0; t->built && i < a->limits.gid_table_len && !found; i++) {
		found = t->entries[i].ifindex == ifindex && !hca_gid_is_empty(&t->entries[i].gid);
		if (found)
			memcpy(mac, t->entries[i].mac, sizeof(t->entries[i].mac));
	}
	pthread_mutex_unlock(&hca.device.port.lock);
	return found;
}

/* The table that has the GID, NULL when none has. Locked. */
static const struct port_table *find_local(const struct hca_gid *gid)
{
	const struct hca_adapter *const *list;
	int count;

	if (hca_adapters_get(&list, &count))
		return NULL;
	for (int i = 0; i < count; i++) {
		for (int p = 0; p < list[i]->port_count; p++) {
			const struct port_table *t = &hca.device.port.table[i][p];

			for (uint64_t k = 0; t->built && k < list[i]->limits.gid_table_len; k++)
				if (!memcmp(&t->entries[k].gid, gid, sizeof(*gid)))
					return t;
		}
	}
	return NULL;
}

bool hca_gid_is_local(const struct hca_gid *gid)
{
	bool found;

	pthread_mutex_lock(&hca.device.port.lock);
	found = find_local(gid);
	pthread_mutex_unlock(&hca.device.port.lock);
	return found;
}

bool hca_gid_mac_quick(const struct hca_gid *gid, uint8_t mac[6])
{
	const struct port_table *t;

	pthread_mutex_lock(&hca.device.port.lock);
	t = find_local(gid);
	if (t)
		memcpy(mac, t->base.mac, sizeof(t->base.mac));
	pthread_mutex_unlock(&hca.device.port.lock);
	return t;
}
