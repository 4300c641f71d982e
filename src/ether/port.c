/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ports of this process's adapters, and what each asks the switch for. port_lock is claimed when
 * rules are created and destroyed; readers of the filters take no lock.
 */
#include "ether/port.h"

#include <string.h>

#include "ether/state.h"

struct ether_port *ether_port(unsigned int adapter, unsigned int number)
{
	struct ether_port *p;

	if (adapter >= ETHER_ADAPTERS || number < 1 || number > ETHER_PORTS)
		return NULL;
	p = &ether_state.ports[adapter][number - 1];
	/* [EP1] called for every frame: locks only before the first one */
	if (likely(__atomic_load_n(&p->number, __ATOMIC_ACQUIRE)))
		return p;
	pthread_mutex_lock(&ether_state.port_lock);
	if (!p->number) {
		p->adapter = adapter;
		p->filter = &ether_state.local_filters[adapter][number - 1];
		/* [EP1] pairs with the load above: the rest before the number */
		__atomic_store_n(&p->number, number, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&ether_state.port_lock);
	return p;
}

static void show(struct ether_port *port)
{
	uint32_t flags = 0;
	uint64_t macs = 0;

	for (unsigned int i = 0; i < 64; i++)
		if (port->mac_count[i])
			macs |= 1ull << i;
	if (port->all_count)
		flags |= ETHER_RX_ALL;
	if (port->multicast_count)
		flags |= ETHER_RX_MULTICAST;
	if (port->unclaimed_count)
		flags |= ETHER_RX_UNCLAIMED;
	for (unsigned int i = 0; i < ETHER_RX_CLAIMS; i++)
		atomic_store_explicit(&port->filter->claimed[i],
				      port->claim_count[i] ? port->claimed[i] : 0,
				      memory_order_relaxed);
	atomic_store_explicit(&port->filter->macs, macs, memory_order_relaxed);
	atomic_store_explicit(&port->filter->flags, flags, memory_order_relaxed);
}

void ether_port_place(struct ether_port *port, struct ether_rx_filter *filter)
{
	pthread_mutex_lock(&ether_state.port_lock);
	port->filter =
		filter ? filter : &ether_state.local_filters[port->adapter][port->number - 1];
	show(port);
	pthread_mutex_unlock(&ether_state.port_lock);
}

bool ether_port_set_geneve(struct ether_port *port, uint32_t option)
{
	uint32_t none = 0;

	return atomic_compare_exchange_strong(&port->geneve_option, &none, option);
}

void ether_port_clear_geneve(struct ether_port *port)
{
	atomic_store(&port->geneve_option, 0);
}

void ether_port_count_rdma(bool out, int delta)
{
	unsigned int before = atomic_fetch_add(&ether_state.rdma_rules[out], delta);

	if (ether_state.rdma_changed && (!before || before + delta == 0))
		ether_state.rdma_changed();
}

unsigned int ether_port_rdma_rules(bool out)
{
	return atomic_load(&ether_state.rdma_rules[out]);
}

void ether_port_set_rdma_changed(void (*changed)(void))
{
	ether_state.rdma_changed = changed;
}

void ether_port_forked(void)
{
	memset(ether_state.ports, 0, sizeof(ether_state.ports));
	atomic_store(&ether_state.rdma_rules[0], 0);
	atomic_store(&ether_state.rdma_rules[1], 0);
}

void ether_port_set_transmit(void (*transmit)(struct ether_port *port, struct ether_frame *frame))
{
	ether_state.transmit = transmit;
}

void ether_port_set_receive(void (*begin)(struct ether_frame *frame), void (*end)(void))
{
	ether_state.receive_begin = begin;
	ether_state.receive_end = end;
}

/* An address that does not fit is not published; removing it finds nothing either. */
static void change_claim(struct ether_port *port, uint64_t number, int delta)
{
	unsigned int place = ETHER_RX_CLAIMS;

	for (unsigned int i = 0; i < ETHER_RX_CLAIMS; i++) {
		if (port->claim_count[i] && port->claimed[i] == number) {
			port->claim_count[i] += delta;
			return;
		}
		if (!port->claim_count[i])
			place = i;
	}
	if (delta < 0 || place == ETHER_RX_CLAIMS)
		return;
	port->claimed[place] = number;
	port->claim_count[place] = 1;
}

void ether_port_want(struct ether_port *port, const uint8_t mac[6], const uint8_t mask[6],
		     enum ether_wanted kind, int delta)
{
	static const uint8_t whole[6] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };

	pthread_mutex_lock(&ether_state.port_lock);
	if (!memcmp(mask, whole, sizeof(whole))) {
		port->mac_count[ether_mac_bit(mac)] += delta;
		if (kind == ETHER_WANTED_CLAIMED && !(mac[0] & 1))
			change_claim(port, ether_mac_number(mac), delta);
	} else if (mask[0] & mac[0] & 1) {
		port->multicast_count += delta;
	} else if (kind == ETHER_WANTED_UNCLAIMED) {
		port->unclaimed_count += delta;
	} else {
		port->all_count += delta;
	}
	show(port);
	pthread_mutex_unlock(&ether_state.port_lock);
}
