/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One port of the facade: sys/class/infiniband/<device>/ports/<number>.
 */
#include "sysfs.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "hw_counters.h"
#include "rate.h"
#include "util/api.h"

static const char *const state_names[] = {
	"NOP", "DOWN", "INIT", "ARMED", "ACTIVE", "ACTIVE_DEFER",
};

static const char *const phys_names[] = {
	"<unknown>",
	"Sleep",
	"Polling",
	"Disabled",
	"PortConfigurationTraining",
	"LinkUp",
	"LinkErrorRecovery",
	"Phy Test",
};

static const char *name_of(const char *const *names, size_t count, unsigned int value)
{
	return value < count ? names[value] : "<unknown>";
}

static void write_attributes(const struct tree_dir *d, const struct port_fact *port)
{
	const struct ibv_port_attr *attr = &port->attr;
	char rate[RATE_TEXT_MAX];

	tree_dir_file(d, "state", "%u: %s\n", attr->state,
		      name_of(state_names, array_size(state_names), attr->state));
	tree_dir_file(d, "phys_state", "%u: %s\n", attr->phys_state,
		      name_of(phys_names, array_size(phys_names), attr->phys_state));
	tree_dir_file(d, "link_layer", "%s\n", facts_link(port));
	tree_dir_file(d, "lid", "0x%x\n", attr->lid);
	tree_dir_file(d, "sm_lid", "0x%x\n", attr->sm_lid);
	tree_dir_file(d, "sm_sl", "%u\n", attr->sm_sl);
	tree_dir_file(d, "lid_mask_count", "%u\n", attr->lmc);
	tree_dir_file(d, "cap_mask", "0x%08x\n", attr->port_cap_flags);
	rate_text(attr, rate, sizeof(rate));
	tree_dir_file(d, "rate", "%s\n", rate);
}

static void gid_text(const union ibv_gid *gid, char out[41])
{
	const uint8_t *raw = gid->raw;
	int i;

	for (i = 0; i < 8; i++, raw += 2, out += 5)
		snprintf(out, 6, "%02x%02x%s", raw[0], raw[1], i < 7 ? ":" : "");
}

/* Entries that read the same are one file; `first` holds its name once it is there. */
static void write_entry(const struct tree_dir *d, int index, char first[16], const char *text)
{
	char name[16];

	snprintf(name, sizeof(name), "%d", index);
	if (*first) {
		tree_dir_again(d, name, first);
		return;
	}
	tree_dir_file(d, name, "%s\n", text);
	memcpy(first, name, sizeof(name));
}

static void write_gid(const struct tree_dir *port, const struct gid_fact *gid)
{
	struct tree_dir d;
	char name[16], text[41];

	snprintf(name, sizeof(name), "%u", gid->index);
	gid_text(&gid->gid, text);
	tree_dir_below(&d, port, "gids");
	tree_dir_file(&d, name, "%s\n", text);
	tree_dir_below(&d, port, "gid_attrs/types");
	tree_dir_file(&d, name, "%s\n",
		      gid->type == IBV_GID_TYPE_ROCE_V2 ? "RoCE v2" : "IB/RoCE v1");
	tree_dir_below(&d, port, "gid_attrs/ndevs");
	if (*gid->interface)
		tree_dir_file(&d, name, "%s\n", gid->interface);
}

/* Every index has a GID file, zeros when unused; only entries in use have attributes. */
static void write_gids(const struct tree_dir *d, const struct port_fact *port)
{
	static const union ibv_gid none;
	const struct gid_fact *gid = port->gids;
	const struct gid_fact *end = gid + port->gid_count;
	char first[16] = "", text[41];
	struct tree_dir gids, attrs;
	int i;

	tree_dir_below(&gids, d, "gids");
	tree_dir_below(&attrs, d, "gid_attrs/types");
	tree_dir_make(&attrs);
	tree_dir_below(&attrs, d, "gid_attrs/ndevs");
	tree_dir_make(&attrs);
	gid_text(&none, text);
	for (i = 0; i < port->attr.gid_tbl_len; i++) {
		if (gid < end && gid->index == (unsigned int)i)
			write_gid(d, gid++);
		else
			write_entry(&gids, i, first, text);
	}
}

static void write_pkeys(const struct tree_dir *d, const struct port_fact *port)
{
	char used[16], none[16] = "", text[16];
	struct tree_dir pkeys;
	int i;

	tree_dir_below(&pkeys, d, "pkeys");
	for (i = 0; i < port->attr.pkey_tbl_len; i++) {
		used[0] = '\0';
		snprintf(text, sizeof(text), "0x%04x", port->pkeys[i]);
		write_entry(&pkeys, i, port->pkeys[i] ? used : none, text);
	}
}

static void write_zeros(const struct tree_dir *d, const char *folder, const char *const *names,
			size_t count)
{
	struct tree_dir dir;
	size_t i;

	tree_dir_below(&dir, d, "%s", folder);
	tree_dir_file(&dir, names[0], "0\n");
	for (i = 1; i < count; i++)
		tree_dir_again(&dir, names[i], names[0]);
}

/* Errors and events that no link here has; hw_counters.c has the rest. */
static const char *const counters[] = {
	"VL15_dropped",
	"excessive_buffer_overrun_errors",
	"link_downed",
	"link_error_recovery",
	"local_link_integrity_errors",
	"port_rcv_constraint_errors",
	"port_rcv_errors",
	"port_rcv_remote_physical_errors",
	"port_rcv_switch_relay_errors",
	"port_xmit_constraint_errors",
	"port_xmit_discards",
	"port_xmit_wait",
	"symbol_error",
};

void sysfs_write_port(const struct tree_dir *dev, const struct adapter_fact *fact, int number)
{
	const struct port_fact *port = &fact->ports[number - 1];
	struct tree_dir d;

	tree_dir_below(&d, dev, "ports/%d", number);
	write_attributes(&d, port);
	write_gids(&d, port);
	write_pkeys(&d, port);
	write_zeros(&d, "counters", counters, array_size(counters));
	hw_counters_write(&d, fact, number);
}
