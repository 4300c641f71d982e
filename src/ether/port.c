/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ports of this process's adapters, and what each asks the switch for. One lock, taken when
 * rules come and go only; readers of the wishes take none.
 */
#include <pthread.h>
#include <string.h>

#include "ether/steer.h"
#include "util/forksafe.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
FORKSAFE(lock, FORKSAFE_LEAF);
static struct ether_port ports[ETHER_ADAPTERS][ETHER_PORTS];
/* Until the switch gives a port a place that peers can see. */
static struct ether_wish nowhere[ETHER_ADAPTERS][ETHER_PORTS];

void (*ether_transmit)(struct ether_port *port, struct ether_frame *frame);

struct ether_port *ether_port(unsigned int adapter, unsigned int number)
{
	struct ether_port *p;

	if (adapter >= ETHER_ADAPTERS || number < 1 || number > ETHER_PORTS)
		return NULL;
	p = &ports[adapter][number - 1];
	/* [W1] asked for every frame: no lock but for the first one */
	if (likely(__atomic_load_n(&p->number, __ATOMIC_ACQUIRE)))
		return p;
	pthread_mutex_lock(&lock);
	if (!p->number) {
		p->adapter = adapter;
		p->wish = &nowhere[adapter][number - 1];
		/* [W1] pairs with the look above: the rest before the number */
		__atomic_store_n(&p->number, number, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&lock);
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
		flags |= ETHER_WISH_ALL;
	if (port->multicast_count)
		flags |= ETHER_WISH_MULTICAST;
	if (port->left_count)
		flags |= ETHER_WISH_LEFT;
	for (unsigned int i = 0; i < ETHER_WISH_TAKEN; i++)
		atomic_store_explicit(&port->wish->taken[i],
				      port->taken_count[i] ? port->taken[i] : 0,
				      memory_order_relaxed);
	atomic_store_explicit(&port->wish->macs, macs, memory_order_relaxed);
	atomic_store_explicit(&port->wish->flags, flags, memory_order_relaxed);
}

void ether_port_place(struct ether_port *port, struct ether_wish *wish)
{
	pthread_mutex_lock(&lock);
	port->wish = wish ? wish : &nowhere[port->adapter][port->number - 1];
	show(port);
	pthread_mutex_unlock(&lock);
}

void ether_port_forked(void)
{
	memset(ports, 0, sizeof(ports));
}

/* One that finds no place is not told of; when its turn to go comes, it finds none either. */
static void change_taken(struct ether_port *port, uint64_t number, int delta)
{
	unsigned int place = ETHER_WISH_TAKEN;

	for (unsigned int i = 0; i < ETHER_WISH_TAKEN; i++) {
		if (port->taken_count[i] && port->taken[i] == number) {
			port->taken_count[i] += delta;
			return;
		}
		if (!port->taken_count[i])
			place = i;
	}
	if (delta < 0 || place == ETHER_WISH_TAKEN)
		return;
	port->taken[place] = number;
	port->taken_count[place] = 1;
}

void ether_port_want(struct ether_port *port, const uint8_t mac[6], const uint8_t mask[6],
		     enum ether_wanted kind, int delta)
{
	static const uint8_t whole[6] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };

	pthread_mutex_lock(&lock);
	if (!memcmp(mask, whole, sizeof(whole))) {
		port->mac_count[ether_mac_bit(mac)] += delta;
		if (kind == ETHER_WANTED_TAKEN && !(mac[0] & 1))
			change_taken(port, ether_mac_number(mac), delta);
	} else if (mask[0] & mac[0] & 1) {
		port->multicast_count += delta;
	} else if (kind == ETHER_WANTED_LEFT) {
		port->left_count += delta;
	} else {
		port->all_count += delta;
	}
	show(port);
	pthread_mutex_unlock(&lock);
}
