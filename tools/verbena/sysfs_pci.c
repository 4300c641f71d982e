/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The PCI function of an adapter in the facade: identity, resources, the driver link, and the
 * network interfaces that its ports are bound to.
 */
#include "sysfs.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "hca/device/model.h"

#define PCI_CLASS_ETHERNET   0x020000
#define PCI_CLASS_INFINIBAND 0x020700
#define PCI_CONFIG_LEN       256
#define PCI_RESOURCES        13

void sysfs_pci_dir(struct tree_dir *d, struct tree *t, const struct adapter_fact *fact)
{
	tree_dir_init(d, t, "sys/devices/pci%.7s/%s", fact->pci_slot, fact->pci_slot);
}

static unsigned int pci_class(const struct adapter_fact *fact)
{
	bool ether = fact->ports[0].attr.link_layer == IBV_LINK_LAYER_ETHERNET;

	return ether ? PCI_CLASS_ETHERNET : PCI_CLASS_INFINIBAND;
}

/* The header that lspci and libpciaccess read: type 0, no capabilities, one 64-bit BAR. */
static void write_config(const struct tree_dir *d, const struct adapter_fact *fact)
{
	unsigned char c[PCI_CONFIG_LEN] = { 0 };
	unsigned int class = pci_class(fact);

	c[0x00] = HCA_PCI_VENDOR_ID & 0xff;
	c[0x01] = HCA_PCI_VENDOR_ID >> 8;
	c[0x02] = fact->pci_device & 0xff;
	c[0x03] = fact->pci_device >> 8;
	c[0x04] = 0x06; /* memory space, bus master */
	c[0x09] = class & 0xff;
	c[0x0a] = class >> 8 & 0xff;
	c[0x0b] = class >> 16 & 0xff;
	c[0x10] = 0x0c; /* 64-bit, prefetchable */
	c[0x2c] = c[0x00];
	c[0x2d] = c[0x01];
	c[0x2e] = c[0x02];
	c[0x2f] = c[0x03];
	tree_dir_bytes(d, "config", c, sizeof(c));
}

static void write_resource(const struct tree_dir *d)
{
	char text[64 * PCI_RESOURCES];
	int i, n = 0;

	for (i = 0; i < PCI_RESOURCES; i++)
		n += snprintf(text + n, sizeof(text) - n, "0x%016x 0x%016x 0x%016x\n", 0, 0, 0);
	tree_dir_file(d, "resource", "%s", text);
}

/* No NUMA node is nearer than another, so every processor is local. */
static void write_affinity(const struct tree_dir *d)
{
	long i, cpus = sysconf(_SC_NPROCESSORS_CONF);
	char mask[2048];
	int n = 0;

	if (cpus < 1)
		cpus = 1;
	for (i = (cpus - 1) / 32; i >= 0 && n < (int)sizeof(mask) - 10; i--) {
		long in_word = cpus - 32 * i;
		unsigned int bits = in_word >= 32 ? ~0u : (1u << in_word) - 1;

		n += snprintf(mask + n, sizeof(mask) - n, "%08x%s", bits, i ? "," : "");
	}
	tree_dir_file(d, "numa_node", "-1\n");
	tree_dir_file(d, "local_cpus", "%s\n", mask);
	if (cpus > 1)
		tree_dir_file(d, "local_cpulist", "0-%ld\n", cpus - 1);
	else
		tree_dir_file(d, "local_cpulist", "0\n");
}

static void write_identity(const struct tree_dir *d, const struct adapter_fact *fact)
{
	unsigned int class = pci_class(fact), vendor = HCA_PCI_VENDOR_ID;

	tree_dir_file(d, "vendor", "0x%04x\n", vendor);
	tree_dir_file(d, "device", "0x%04x\n", fact->pci_device);
	tree_dir_file(d, "subsystem_vendor", "0x%04x\n", vendor);
	tree_dir_file(d, "subsystem_device", "0x%04x\n", fact->pci_device);
	tree_dir_file(d, "class", "0x%06x\n", class);
	tree_dir_file(d, "revision", "0x00\n");
	tree_dir_file(d, "irq", "0\n");
	tree_dir_file(d, "enable", "1\n");
	tree_dir_file(d, "max_link_speed", "16.0 GT/s PCIe\n");
	tree_dir_file(d, "max_link_width", "16\n");
	tree_dir_file(d, "current_link_speed", "16.0 GT/s PCIe\n");
	tree_dir_file(d, "current_link_width", "16\n");
	tree_dir_file(d, "modalias", "pci:v%08Xd%08Xsv%08Xsd%08Xbc%02Xsc%02Xi%02X\n", vendor,
		      fact->pci_device, vendor, fact->pci_device, class >> 16, class >> 8 & 0xff,
		      class & 0xff);
	tree_dir_file(d, "uevent",
		      "DRIVER=%s\nPCI_CLASS=%X\nPCI_ID=%04X:%04X\nPCI_SUBSYS_ID=%04X:%04X\n"
		      "PCI_SLOT_NAME=%s\n",
		      fact->driver, class, vendor, fact->pci_device, vendor, fact->pci_device,
		      fact->pci_slot);
}

static void write_links(struct tree *t, const struct tree_dir *pci, const struct adapter_fact *fact)
{
	struct tree_dir d;

	tree_dir_link(pci, "driver", "../../../bus/pci/drivers/%s", fact->driver);
	tree_dir_link(pci, "subsystem", "../../../bus/pci");
	tree_dir_init(&d, t, "sys/bus/pci/devices");
	tree_dir_link(&d, fact->pci_slot, "../../../devices/pci%.7s/%s", fact->pci_slot,
		      fact->pci_slot);
	tree_dir_init(&d, t, "sys/bus/pci/drivers/%s", fact->driver);
	tree_dir_link(&d, fact->pci_slot, "../../../../devices/pci%.7s/%s", fact->pci_slot,
		      fact->pci_slot);
}

static bool is_tie(const char *name)
{
	return !strcmp(name, "device") || !strcmp(name, "dev_port");
}

/*
 * The interface stays where the kernel has it; here its attributes are links to the real ones,
 * save for those that tie it to this adapter.
 */
static void write_net(const struct tree_dir *pci, const struct adapter_fact *fact, int number)
{
	const char *name = fact->ports[number - 1].interface;
	struct dirent *entry;
	struct tree_dir d;
	char real[64];
	DIR *dir;

	snprintf(real, sizeof(real), "/sys/class/net/%s", name);
	tree_dir_below(&d, pci, "net/%s", name);
	tree_dir_link(&d, "device", "../../../%s", fact->pci_slot);
	dir = opendir(real);
	tree_dir_file(&d, "dev_port", "%d\n", number - 1);
	if (!dir)
		return;
	while ((entry = readdir(dir)))
		if (entry->d_name[0] != '.' && !is_tie(entry->d_name))
			tree_dir_link(&d, entry->d_name, "%s/%s", real, entry->d_name);
	closedir(dir);
}

static bool interface_is_new(const struct adapter_fact *fact, int number)
{
	const char *name = fact->ports[number - 1].interface;
	int i;

	for (i = 0; i < number - 1; i++)
		if (!strcmp(fact->ports[i].interface, name))
			return false;
	return *name != 0;
}

void sysfs_write_pci(struct tree *t, const struct adapter_fact *fact)
{
	struct tree_dir d;
	int i;

	sysfs_pci_dir(&d, t, fact);
	write_identity(&d, fact);
	write_config(&d, fact);
	write_resource(&d);
	write_affinity(&d);
	write_links(t, &d, fact);
	for (i = 1; i <= fact->port_count; i++)
		if (interface_is_new(fact, i))
			write_net(&d, fact, i);
}
