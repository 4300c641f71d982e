/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Asks the libraries about the adapters, once, on behalf of one command.
 */
#include "facts.h"

#include <endian.h>
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hca/device/adapter_list.h"
#include "hca/device/port.h"
#include "say.h"
#include "util/explain.h"

static int complain(const char *what, const char *name, int err)
{
	const char *why = explain_last();

	return say(EXIT_FAILED, "%s of adapter %s failed: %s", what, name,
		   *why ? why : strerror(err));
}

static int take_gids(struct ibv_context *ctx, unsigned int number, struct port_fact *port)
{
	int i, len = port->attr.gid_tbl_len;
	static const union ibv_gid empty;
	struct ibv_gid_entry entry;
	struct gid_fact *gid;
	union ibv_gid raw;

	port->gids = calloc(len ? len : 1, sizeof(*port->gids));
	if (!port->gids)
		return ENOMEM;
	for (i = 0; i < len; i++) {
		/* The plain query first: it does not take an empty entry for a refusal. */
		if (ibv_query_gid(ctx, number, i, &raw) || !memcmp(&raw, &empty, sizeof(raw)) ||
		    ibv_query_gid_ex(ctx, number, i, &entry, 0))
			continue;
		gid = &port->gids[port->gid_count++];
		gid->index = i;
		gid->gid = entry.gid;
		gid->type = entry.gid_type;
		if (!entry.ndev_ifindex || !if_indextoname(entry.ndev_ifindex, gid->interface))
			gid->interface[0] = '\0';
	}
	return 0;
}

static int take_pkeys(struct ibv_context *ctx, unsigned int number, struct port_fact *port)
{
	int i, len = port->attr.pkey_tbl_len;
	__be16 pkey;

	port->pkeys = calloc(len ? len : 1, sizeof(*port->pkeys));
	if (!port->pkeys)
		return ENOMEM;
	for (i = 0; i < len; i++)
		if (!ibv_query_pkey(ctx, number, i, &pkey))
			port->pkeys[i] = be16toh(pkey);
	return 0;
}

static int take_port(struct ibv_context *ctx, const struct hca_adapter *hca, unsigned int number,
		     struct port_fact *port)
{
	const struct hca_port_config *config = &hca->ports[number - 1];
	struct hca_port_attr inner;
	int err = ibv_query_port(ctx, number, &port->attr);

	if (!err)
		err = take_gids(ctx, number, port);
	if (!err)
		err = take_pkeys(ctx, number, port);
	if (err || hca_port_query(hca, number, &inner))
		return err;
	if (inner.ifindex)
		snprintf(port->interface, sizeof(port->interface), "%s", inner.interface);
	/* An InfiniBand port has no use for the interface that stands for its IPoIB one. */
	else if (inner.link == HCA_LINK_INFINIBAND && if_nametoindex(config->interface))
		snprintf(port->interface, sizeof(port->interface), "%s", config->interface);
	return 0;
}

static int take_ports(struct ibv_context *ctx, const struct hca_adapter *hca,
		      struct adapter_fact *fact)
{
	int i, err;

	fact->ports = calloc(fact->attr.phys_port_cnt, sizeof(*fact->ports));
	if (!fact->ports)
		return ENOMEM;
	fact->port_count = fact->attr.phys_port_cnt;
	for (i = 0; i < fact->port_count; i++) {
		err = take_port(ctx, hca, i + 1, &fact->ports[i]);
		if (err)
			return err;
	}
	return 0;
}

static const struct hca_adapter *find_hca(const char *name)
{
	const struct hca_adapter *const *list;
	int i, count;

	if (hca_adapters_get(&list, &count))
		return NULL;
	for (i = 0; i < count; i++)
		if (!strcmp(list[i]->name, name))
			return list[i];
	return NULL;
}

static void take_model(const struct hca_adapter *hca, struct adapter_fact *fact)
{
	fact->index = (uint32_t)hca->index;
	fact->model = hca->model->name;
	fact->hca_type = hca->model->hca_type;
	fact->board_id = hca->model->board_id;
	fact->driver = hca->model->driver == HCA_DRIVER_MLX5 ? "mlx5_core" : "mlx4_core";
	fact->pci_device = hca->model->pci_device;
	fact->switchdev = hca->switchdev;
	fact->roce = hca->ports[0].link == HCA_LINK_ETHERNET && !hca->roce_off;
	fact->rdma_control = hca_model_has(hca->model, HCA_HAS_RDMA_CONTROL);
	snprintf(fact->pci_slot, sizeof(fact->pci_slot), "%s", hca->pci_slot);
}

static int take_adapter(struct ibv_device *dev, struct adapter_fact *fact)
{
	const char *name = ibv_get_device_name(dev);
	const struct hca_adapter *hca = find_hca(name);
	struct ibv_context *ctx;
	int err;

	if (!hca)
		return say(EXIT_FAILED,
			   "device %s is not an adapter of ours; is another "
			   "libibverbs.so.1 loaded?",
			   name);
	snprintf(fact->name, sizeof(fact->name), "%s", name);
	snprintf(fact->uverbs, sizeof(fact->uverbs), "%s", dev->dev_name);
	take_model(hca, fact);
	ctx = ibv_open_device(dev);
	if (!ctx)
		return complain("opening", name, errno);
	err = ibv_query_device(ctx, &fact->attr);
	if (!err)
		err = take_ports(ctx, hca, fact);
	if (err)
		err = complain("the description", name, err);
	ibv_close_device(ctx);
	return err;
}

static int take_list(struct ibv_device **list, int count, struct facts *out)
{
	int i, err;

	out->adapters = calloc(count ? count : 1, sizeof(*out->adapters));
	if (!out->adapters)
		return say(EXIT_FAILED, "out of memory");
	for (i = 0; i < count; i++) {
		out->count++;
		err = take_adapter(list[i], &out->adapters[i]);
		if (err) {
			facts_free(out);
			return err;
		}
	}
	return 0;
}

int facts_take(struct facts *out)
{
	struct ibv_device **list;
	int count, err;

	memset(out, 0, sizeof(*out));
	list = ibv_get_device_list(&count);
	if (!list)
		return say(EXIT_FAILED, "there are no adapters: %s", strerror(errno));
	err = take_list(list, count, out);
	ibv_free_device_list(list);
	return err;
}

void facts_free(struct facts *f)
{
	int i, p;

	for (i = 0; i < f->count; i++) {
		for (p = 0; p < f->adapters[i].port_count; p++) {
			free(f->adapters[i].ports[p].gids);
			free(f->adapters[i].ports[p].pkeys);
		}
		free(f->adapters[i].ports);
	}
	free(f->adapters);
	memset(f, 0, sizeof(*f));
}

const char *facts_link(const struct port_fact *port)
{
	return port->attr.link_layer == IBV_LINK_LAYER_ETHERNET ? "Ethernet" : "InfiniBand";
}

const char *facts_gid_type(const struct port_fact *port, const struct gid_fact *gid)
{
	if (gid->type == IBV_GID_TYPE_ROCE_V2)
		return "RoCE v2";
	return port->attr.link_layer == IBV_LINK_LAYER_ETHERNET ? "RoCE v1" : "InfiniBand";
}

void facts_guid_text(__be64 guid, char out[20])
{
	uint64_t g = be64toh(guid);

	snprintf(out, 20, "%04x:%04x:%04x:%04x", (unsigned int)(g >> 48 & 0xffff),
		 (unsigned int)(g >> 32 & 0xffff), (unsigned int)(g >> 16 & 0xffff),
		 (unsigned int)(g & 0xffff));
}
