/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ports: state, MTU and GID tables, as the host's interfaces have them now. The tables follow the
 * interfaces: every query first reads the kernel's reports since the last one, and changes are
 * posted to every struct hca_async of the adapter.
 */
#ifndef HCA_PORT_H
#define HCA_PORT_H

#include "hca/device/adapter.h"

enum hca_gid_type {
	HCA_GID_IB,
	HCA_GID_ROCE_V1,
	HCA_GID_ROCE_V2,
};

struct hca_gid_entry {
	struct hca_gid gid; /* all zero: the entry is empty */
	enum hca_gid_type type;
	uint32_t ifindex;
	uint32_t mtu;   /* of the interface */
	uint8_t mac[6]; /* of the interface; zeros: it has none */
};

/* Numbers of the port attributes, as the specification counts them. */
enum hca_port_state {
	HCA_PORT_DOWN = 1,
	HCA_PORT_ACTIVE = 4,
};

/* As in the port attributes. */
enum hca_width {
	HCA_WIDTH_4X = 2,
	HCA_WIDTH_2X = 16,
};

struct hca_port_attr {
	enum hca_port_state state;
	enum hca_link link;
	uint8_t phys_state; /* 3 disabled, 5 link up */
	uint8_t max_mtu;    /* enum: 1 = 256 ... 5 = 4096 */
	uint8_t active_mtu;
	uint16_t lid;
	uint16_t sm_lid;
	uint32_t gid_table_len;
	uint16_t pkey_table_len;
	uint32_t max_msg_size;
	uint8_t active_width; /* enum hca_width */
	uint16_t active_speed;
	uint32_t speed_mbps;
	uint32_t ifindex; /* 0 when no interface backs the port */
	char interface[16];
	uint8_t mac[6];
};

VB_API int hca_port_query(const struct hca_adapter *a, unsigned int port,
			  struct hca_port_attr *out);

/* The entry may be empty. -EINVAL: no such port or index. */
VB_API int hca_port_gid(const struct hca_adapter *a, unsigned int port, unsigned int index,
			struct hca_gid_entry *out);

/* The tables of all ports, one after the other, as they were at one moment. */
VB_API int hca_port_gid_tables(const struct hca_adapter *a, struct hca_gid_entry *out);

/* The index of a GID of this type in a port's table; -ENOENT. */
VB_API int hca_port_gid_find(const struct hca_adapter *a, unsigned int port,
			     const struct hca_gid *gid, enum hca_gid_type type);

/* As last read, without asking the kernel: for data paths. False when the entry is empty. */
bool hca_port_gid_quick(const struct hca_adapter *a, unsigned int port, unsigned int index,
			struct hca_gid_entry *out);
/* From now on the service thread is woken when a GID table changes. */
void hca_port_wake_on_change(void);
/* True when some port of an adapter of this process has the GID. */
bool hca_gid_is_local(const struct hca_gid *gid);
/* The hardware address of the port that has the GID, as last seen; false when none has. */
VB_API bool hca_gid_mac_quick(const struct hca_gid *gid, uint8_t mac[6]);
/*
 * The hardware address of an Ethernet port as last seen. Returns the largest payload of a packet, in bytes:
 * the active MTU.
 */
uint32_t hca_port_mac_quick(const struct hca_adapter *a, unsigned int port, uint8_t mac[6]);

/*
 * The hardware address of an interface with a GID in the port's table, as last seen; false when no
 * entry is of that interface.
 */
VB_API bool hca_port_link_address(const struct hca_adapter *a, unsigned int port, uint32_t ifindex,
				  uint8_t mac[6]);

/* Host order. -EINVAL: no such port or index. Entries past the first are 0. */
VB_API int hca_port_pkey(const struct hca_adapter *a, unsigned int port, unsigned int index,
			 uint16_t *out);

VB_API bool hca_gid_is_empty(const struct hca_gid *gid);

/*
 * Starts to follow the interfaces, by a netlink socket that the service thread waits for.
 * Where the kernel gives no socket every query reads the interfaces. hca_port_refresh() reads the
 * reports and posts events for changes.
 */
VB_API void hca_port_watch(void);
VB_API void hca_port_refresh(void);
/* In a forked child (engine/fork.c). */
void hca_port_forked(void);

#endif
