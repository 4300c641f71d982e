/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The classes of the facade: infiniband, infiniband_verbs, infiniband_mad, infiniband_ucaps, misc/rdma_cm,
 * and /dev/infiniband. As in a real /sys, the class directories hold links and the devices live below
 * their PCI function, because programs find one from the other by realpath().
 */
#include "sysfs.h"

#include <stdio.h>
#include <string.h>

/* Character device numbers as the kernel hands them out to uverbs and umad. */
#define UVERBS_MAJOR 231
#define UVERBS_MINOR 192
#define UMAD_MINOR   0
#define UCAP_MINOR   224

static void write_device_ids(const struct tree_dir *d, const struct adapter_fact *fact)
{
	char node[20], image[20];

	facts_guid_text(fact->attr.node_guid, node);
	facts_guid_text(fact->attr.sys_image_guid, image);
	tree_dir_file(d, "node_type", "1: CA\n");
	tree_dir_file(d, "node_guid", "%s\n", node);
	tree_dir_file(d, "sys_image_guid", "%s\n", image);
	tree_dir_file(d, "node_desc", "%s %s\n", fact->model, fact->name);
	tree_dir_file(d, "fw_ver", "%s\n", fact->attr.fw_ver);
	tree_dir_file(d, "hw_rev", "%x\n", fact->attr.hw_ver);
	tree_dir_file(d, "hca_type", "%s\n", fact->hca_type);
	tree_dir_file(d, "board_id", "%s\n", fact->board_id);
	tree_dir_file(d, "uevent", "NAME=%s\n", fact->name);
}

static void write_infiniband(struct tree *t, const struct tree_dir *pci,
			     const struct adapter_fact *fact)
{
	struct tree_dir dev, class;
	int i;

	tree_dir_below(&dev, pci, "infiniband/%s", fact->name);
	write_device_ids(&dev, fact);
	tree_dir_link(&dev, "device", "../../../%s", fact->pci_slot);
	tree_dir_link(&dev, "subsystem", "../../../../../class/infiniband");
	for (i = 1; i <= fact->port_count; i++)
		sysfs_write_port(&dev, fact, i);
	tree_dir_init(&class, t, "sys/class/infiniband");
	tree_dir_link(&class, fact->name, "../../devices/pci%.7s/%s/infiniband/%s", fact->pci_slot,
		      fact->pci_slot, fact->name);
}

static void write_uverbs(struct tree *t, const struct tree_dir *pci,
			 const struct adapter_fact *fact, int index)
{
	struct tree_dir dev, class, nodes;

	tree_dir_below(&dev, pci, "infiniband_verbs/%s", fact->uverbs);
	tree_dir_file(&dev, "ibdev", "%s\n", fact->name);
	tree_dir_file(&dev, "abi_version", "%d\n", strcmp(fact->driver, "mlx4_core") ? 1 : 4);
	tree_dir_file(&dev, "dev", "%d:%d\n", UVERBS_MAJOR, UVERBS_MINOR + index);
	tree_dir_file(&dev, "uevent", "MAJOR=%d\nMINOR=%d\nDEVNAME=infiniband/%s\n", UVERBS_MAJOR,
		      UVERBS_MINOR + index, fact->uverbs);
	tree_dir_link(&dev, "device", "../../../%s", fact->pci_slot);
	tree_dir_link(&dev, "subsystem", "../../../../../class/infiniband_verbs");
	tree_dir_init(&class, t, "sys/class/infiniband_verbs");
	tree_dir_link(&class, fact->uverbs, "../../devices/pci%.7s/%s/infiniband_verbs/%s",
		      fact->pci_slot, fact->pci_slot, fact->uverbs);
	/* Nothing is ever read from it; it must only be a character device that opens. */
	tree_dir_init(&nodes, t, "dev/infiniband");
	tree_dir_link(&nodes, fact->uverbs, "/dev/null");
}

/* The device itself is a socket, which the command makes (umad.c) when the tree is complete. */
static void write_umad(struct tree *t, const struct tree_dir *pci, const struct adapter_fact *fact,
		       int port, int index)
{
	struct tree_dir dev, class;
	char name[16];

	snprintf(name, sizeof(name), "umad%d", index);
	tree_dir_below(&dev, pci, "infiniband_mad/%s", name);
	tree_dir_file(&dev, "ibdev", "%s\n", fact->name);
	tree_dir_file(&dev, "port", "%d\n", port);
	tree_dir_file(&dev, "dev", "%d:%d\n", UVERBS_MAJOR, UMAD_MINOR + index);
	tree_dir_link(&dev, "device", "../../../%s", fact->pci_slot);
	tree_dir_link(&dev, "subsystem", "../../../../../class/infiniband_mad");
	tree_dir_init(&class, t, "sys/class/infiniband_mad");
	tree_dir_link(&class, name, "../../devices/pci%.7s/%s/infiniband_mad/%s", fact->pci_slot,
		      fact->pci_slot, name);
}

static void write_adapter(struct tree *t, const struct adapter_fact *fact, int index,
			  int *umad_count)
{
	struct tree_dir pci;
	int port;

	sysfs_pci_dir(&pci, t, fact);
	sysfs_write_pci(t, fact);
	write_infiniband(t, &pci, fact);
	write_uverbs(t, &pci, fact, index);
	for (port = 1; port <= fact->port_count; port++)
		write_umad(t, &pci, fact, port, (*umad_count)++);
}

/* Devices that open privileged contexts (src/mlx5/privilege.h). They are told apart by their files. */
static void write_ucaps(struct tree *t)
{
	static const char *const names[] = { "mlx5_perm_ctrl_local", "mlx5_perm_ctrl_other_vhca" };
	struct tree_dir nodes, dev;
	int i;

	for (i = 0; i < 2; i++) {
		tree_dir_init(&nodes, t, "dev/infiniband");
		tree_dir_device(&nodes, names[i]);
		tree_dir_init(&dev, t, "sys/class/infiniband_ucaps/%s", names[i]);
		tree_dir_file(&dev, "dev", "%d:%d\n", UVERBS_MAJOR, UCAP_MINOR + i);
		tree_dir_file(&dev, "uevent",
			      "MAJOR=%d\nMINOR=%d\nDEVNAME=infiniband/%s\nDEVMODE=0600\n",
			      UVERBS_MAJOR, UCAP_MINOR + i, names[i]);
	}
}

static void write_class_files(struct tree *t)
{
	struct tree_dir d;

	tree_dir_init(&d, t, "sys/class/infiniband");
	tree_dir_make(&d);
	tree_dir_init(&d, t, "sys/class/infiniband_verbs");
	tree_dir_file(&d, "abi_version", "6\n");
	tree_dir_init(&d, t, "sys/class/infiniband_mad");
	tree_dir_file(&d, "abi_version", "5\n");
	tree_dir_init(&d, t, "sys/class/misc/rdma_cm");
	tree_dir_file(&d, "abi_version", "4\n");
	tree_dir_file(&d, "dev", "10:58\n");
	tree_dir_init(&d, t, "dev/infiniband");
	tree_dir_link(&d, "rdma_cm", "/dev/null");
}

int sysfs_write(struct tree *t, const struct facts *facts, bool clocks)
{
	int i, umad_count = 0, clock = 0;
	bool ucaps = false;

	write_class_files(t);
	for (i = 0; i < facts->count; i++) {
		write_adapter(t, &facts->adapters[i], i, &umad_count);
		if (clocks)
			sysfs_write_clock(t, &facts->adapters[i], &clock);
		ucaps |= facts->adapters[i].rdma_control;
	}
	if (ucaps)
		write_ucaps(t);
	return t->err;
}
