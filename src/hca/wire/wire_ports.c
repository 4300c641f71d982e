/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns the list of ports, which only grows. ports.lock guards it; readers take no lock. Several
 * processes share an address: reuseport.h tells the kernel which of them a packet is for.
 */
#include "hca/wire/wire_ports.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "fabric/service.h"
#include "hca/peers/process_exit.h"
#include "hca/wire/wire_port.h"
#include "roce/endpoint.h"
#include "roce/rx.h"
#include "roce/tx.h"
#include "util/explain.h"
#include "util/shortage.h"

#define MAX_BUFFER      (1u << 30)
#define REFUSAL_KEPT_NS 1000000000u

void wire_set_inspect(const struct roce_inspect *inspect, bool prefer_wire)
{
	const char *path = getenv("VERBENA_PATH");

	hca.wire.inspect = inspect;
	hca.wire.is_forced = path && *path ? !strcmp(path, "wire") : prefer_wire;
}

bool wire_is_forced(void)
{
	return hca.wire.is_forced;
}

/* ---- addresses that could not be opened, so that not every packet tries again; locked ---- */

static int find_refusal(const uint8_t gid[16])
{
	uint64_t now = hca_now_ns();

	for (unsigned int i = 0; i < WIRE_REFUSALS; i++) {
		const struct wire_refusal *r = &hca.wire.ports.refused[i];

		if (now < r->until_ns && !memcmp(r->gid, gid, sizeof(r->gid)))
			return r->err;
	}
	return 0;
}

static void add_refusal(const uint8_t gid[16], int err)
{
	struct wire_refusal *r =
		&hca.wire.ports.refused[hca.wire.ports.refused_next++ % WIRE_REFUSALS];

	memcpy(r->gid, gid, sizeof(r->gid));
	r->until_ns = hca_now_ns() + (is_shortage(err) ? SHORTAGE_PAUSE_NS : REFUSAL_KEPT_NS);
	r->err = err;
}

/* ---- opening ---- */

/* Bytes that each socket is to buffer; 0: as many as the kernel allows. */
static uint32_t buffer_size(void)
{
	const char *text = getenv("VERBENA_SOCKET_BUFFER");
	unsigned long bytes;
	char *end;

	if (!text || !*text)
		return 0;
	bytes = strtoul(text, &end, 0);
	if (*end || !bytes || bytes > MAX_BUFFER) {
		explain_note("VERBENA_SOCKET_BUFFER is a number of bytes up to %u, not '%s'",
			     MAX_BUFFER, text);
		return 0;
	}
	return (uint32_t)bytes;
}

static int open_port(struct wire_port *port)
{
	const uint32_t bytes = buffer_size();
	const struct roce_endpoint_opts opts = {
		.inspect = hca.wire.inspect,
		.sndbuf = bytes,
		.rcvbuf = bytes,
	};
	int err;

	reuseport_announce(&port->reuseport, &port->addr);
	err = roce_endpoint_open(&port->addr, &opts, &port->ep);
	if (err) {
		reuseport_end(&port->reuseport);
		return err;
	}
	if (atomic_load(&hca.wire.listen.any))
		roce_endpoint_enable_ttl(port->ep);
	reuseport_begin(&port->reuseport, port->ep, hca_now_ns());
	err = roce_tx_create(port->ep, &port->tx);
	if (err)
		goto end_reuseport;
	err = roce_rx_create(&port->rx);
	if (err)
		goto destroy_tx;
	err = fabric_service_add_fd(roce_endpoint_fd(port->ep), EPOLLIN, hca.wire_events->readable,
				    port);
	if (err)
		goto destroy_rx;
	/* For groups that are joined later. If it fails, only pollers receive from groups. */
	fabric_service_add_fd(roce_endpoint_group_fd(port->ep), EPOLLIN,
			      hca.wire_events->group_readable, port);
	process_exit_call(hca.wire_events->process_exits);
	return 0;
destroy_rx:
	roce_rx_destroy(port->rx);
destroy_tx:
	roce_tx_destroy(port->tx);
end_reuseport:
	reuseport_end(&port->reuseport);
	roce_endpoint_close(port->ep);
	return explain(-err, "the wire cannot be used: %s", strerror(-err));
}

static int make_port(const struct hca_gid_entry *src, struct wire_port **out)
{
	struct wire_port *port = calloc(1, sizeof(*port));
	int err;

	if (!port)
		return -ENOMEM;
	memcpy(port->addr.gid, src->gid.raw, sizeof(port->addr.gid));
	port->addr.ifindex = src->ifindex;
	err = open_port(port);
	if (err) {
		free(port);
		return err;
	}
	port->next = wire_port_first();
	/* [W1] */
	atomic_store(&hca.wire.ports.first, port);
	*out = port;
	return 0;
}

/* A link-local address (fe80::/10) belongs to an interface, others may move between interfaces. */
static bool is_at(const struct wire_port *port, const struct hca_gid_entry *src)
{
	return !memcmp(port->addr.gid, src->gid.raw, sizeof(port->addr.gid)) &&
	       (src->gid.raw[0] != 0xfe || port->addr.ifindex == src->ifindex);
}

int wire_port_get(const struct hca_gid_entry *src, bool is_retry, struct wire_port **out)
{
	struct wire_port *port;
	int err = 0;

	pthread_mutex_lock(&hca.wire.ports.lock);
	for (port = wire_port_first(); port; port = port->next)
		if (is_at(port, src))
			break;
	if (port && port->addr.ifindex != src->ifindex) {
		port->addr.ifindex = src->ifindex;
		roce_endpoint_update_interface(port->ep);
	}
	if (!port) {
		if (is_retry)
			err = find_refusal(src->gid.raw);
		if (!err) {
			err = make_port(src, &port);
			if (err)
				add_refusal(src->gid.raw, err);
		}
	}
	pthread_mutex_unlock(&hca.wire.ports.lock);
	*out = port;
	return err;
}

void wire_port_set_polled(struct wire_port *port)
{
	atomic_store(&port->is_polled, true);
	atomic_store(&hca.wire.is_polled, true);
}

const struct roce_endpoint *wire_endpoint(unsigned int i)
{
	const struct wire_port *port = wire_port_first();

	while (port && i--)
		port = port->next;
	return port ? port->ep : NULL;
}

void wire_close_inherited(void)
{
	for (struct wire_port *port = wire_port_first(); port; port = port->next)
		roce_endpoint_close(port->ep);
	atomic_store(&hca.wire.ports.first, NULL);
	atomic_store(&hca.wire.is_polled, false);
}
