/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * PTP clocks of adapters: a directory below the PCI function, a link in /sys/class/ptp, and /dev/ptpN, which the
 * preload library reads for the program (tools/facade/phc.c). Numbers of the machine's own clocks are left to
 * them.
 */
#include "sysfs.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PTP_MAJOR 247

static bool is_taken(int number)
{
	char dev[32], class[32];

	snprintf(dev, sizeof(dev), "/dev/ptp%d", number);
	snprintf(class, sizeof(class), "/sys/class/ptp/ptp%d", number);
	return !access(dev, F_OK) || !access(class, F_OK);
}

/* The driver of a ConnectX-3 has its clock in the part for Ethernet. */
static bool has_clock(const struct adapter_fact *fact)
{
	return !strcmp(fact->driver, "mlx5_core") ||
	       fact->ports[0].attr.link_layer == IBV_LINK_LAYER_ETHERNET;
}

void sysfs_write_clock(struct tree *t, const struct adapter_fact *fact, int *next)
{
	static const char *const none[] = { "max_adjustment",        "n_alarms",
					    "n_external_timestamps", "n_periodic_outputs",
					    "n_programmable_pins",   "pps_available" };
	bool mlx5 = !strcmp(fact->driver, "mlx5_core");
	struct tree_dir pci, d, nodes;
	char name[16];
	size_t i;

	if (!has_clock(fact))
		return;
	while (is_taken(*next))
		++*next;
	snprintf(name, sizeof(name), "ptp%d", *next);
	sysfs_pci_dir(&pci, t, fact);
	tree_dir_below(&d, &pci, "ptp/%s", name);
	tree_dir_file(&d, "clock_name", "%s\n", mlx5 ? "mlx5_ptp" : "mlx4 ptp");
	tree_dir_file(&d, "dev", "%d:%d\n", PTP_MAJOR, *next);
	tree_dir_file(&d, "uevent", "MAJOR=%d\nMINOR=%d\nDEVNAME=%s\n", PTP_MAJOR, *next, name);
	for (i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		tree_dir_file(&d, none[i], "0\n");
	tree_dir_link(&d, "device", "../../../%s", fact->pci_slot);
	tree_dir_link(&d, "subsystem", "../../../../../class/ptp");
	tree_dir_init(&d, t, "sys/class/ptp");
	tree_dir_link(&d, name, "../../devices/pci%.7s/%s/ptp/%s", fact->pci_slot, fact->pci_slot,
		      name);
	tree_dir_init(&nodes, t, "dev");
	tree_dir_device(&nodes, name);
	++*next;
}
