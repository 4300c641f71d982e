/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages of rsockets from the network: the data of a connection, the header of a datagram and of a UDP message. A
 * message that is accepted is equal to its own encoding, where it has one.
 *
 * Input: a byte that says which, then the message.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "fuzz.h"
#include "rsocket/conn_data.h"
#include "rsocket/dgram_wire.h"
#include "rsocket/wire.h"

enum { CONNECTION, DATAGRAM, UDP4, UDP6, KINDS };

static void connection(const uint8_t *data, size_t len)
{
	struct rs_conn_data in = { 0 }, again;
	uint8_t bytes[RS_CONN_DATA_LEN];

	if (rs_conn_data_decode(data, len, &in))
		return;
	CHECK(len >= RS_CONN_DATA_LEN);
	rs_conn_data_encode(&in, bytes);
	CHECK(!rs_conn_data_decode(bytes, sizeof(bytes), &again));
	CHECK(again.big_endian == in.big_endian && again.credits == in.credits &&
	      again.iomap_size == in.iomap_size);
	CHECK(!memcmp(&again.target, &in.target, sizeof(in.target)) &&
	      !memcmp(&again.buffer, &in.buffer, sizeof(in.buffer)));
}

static void datagram(const uint8_t *data, size_t len)
{
	uint8_t bytes[RS_UD_HEADER_MAX];
	union rs_addr from;
	int n = rs_ud_header_decode(data, len, &from);

	CHECK(n < 0 || (size_t)n <= len);
	if (n < 0)
		return;
	CHECK(rs_ud_header_encode(&from, bytes) == (size_t)n);
	CHECK(!memcmp(bytes, data, (size_t)n));
}

static void udp(const uint8_t *data, size_t len, int family)
{
	enum rs_udp_op op;
	uint32_t qpn = 0;
	int n = rs_udp_header_decode(data, len, family, &op, &qpn);

	CHECK(n < 0 || ((size_t)n <= len && qpn <= 0xffffff));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *copy;

	if (!size)
		return 0;
	copy = malloc(size);
	CHECK(copy);
	memcpy(copy, data + 1, size - 1);
	switch (data[0] % KINDS) {
	case CONNECTION:
		connection(copy, size - 1);
		break;
	case DATAGRAM:
		datagram(copy, size - 1);
		break;
	default:
		udp(copy, size - 1, data[0] % KINDS == UDP4 ? AF_INET : AF_INET6);
		break;
	}
	free(copy);
	return 0;
}
