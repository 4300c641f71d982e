/* SPDX-License-Identifier: BSD-2-Clause */
#include "rsocket/conn_data.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#include "util/explain.h"

#define VERSION         1
#define FLAG_BIG_ENDIAN 1
#define FLAG_IOMAP      2 /* the byte of the iomap's size is valid */

struct wire_sge {
	uint64_t addr; /* all big-endian */
	uint32_t key;
	uint32_t length;
};

struct wire_conn_data {
	uint8_t version;
	uint8_t flags;
	uint16_t credits; /* big-endian */
	uint8_t reserved[3];
	uint8_t iomap_size; /* rs_iomap_size_pack() */
	struct wire_sge target;
	struct wire_sge buffer;
};
_Static_assert(sizeof(struct wire_conn_data) == RS_CONN_DATA_LEN, "wire format");

static struct wire_sge sge_encode(struct rs_sge sge)
{
	return (struct wire_sge){ .addr = htobe64(sge.addr),
				  .key = htobe32(sge.key),
				  .length = htobe32(sge.length) };
}

static struct rs_sge sge_decode(struct wire_sge sge)
{
	return (struct rs_sge){ .addr = be64toh(sge.addr),
				.key = be32toh(sge.key),
				.length = be32toh(sge.length) };
}

void rs_conn_data_encode(const struct rs_conn_data *data, uint8_t to[RS_CONN_DATA_LEN])
{
	const struct wire_conn_data wire = {
		.version = VERSION,
		.flags = FLAG_IOMAP | (data->big_endian ? FLAG_BIG_ENDIAN : 0),
		.credits = htobe16(data->credits),
		.iomap_size = rs_iomap_size_pack(data->iomap_size),
		.target = sge_encode(data->target),
		.buffer = sge_encode(data->buffer),
	};

	memcpy(to, &wire, sizeof(wire));
}

int rs_conn_data_decode(const void *from, size_t len, struct rs_conn_data *data)
{
	struct wire_conn_data wire;

	if (!from || len < sizeof(wire))
		return explain(EPROTONOSUPPORT,
			       "the peer is no rsocket: it sent %zu bytes of private data, not %d",
			       from ? len : 0, RS_CONN_DATA_LEN);
	memcpy(&wire, from, sizeof(wire));
	if (wire.version != VERSION)
		return explain(EPROTONOSUPPORT,
			       "the peer speaks version %d of the rsocket protocol, not %d",
			       wire.version, VERSION);
	*data = (struct rs_conn_data){
		.big_endian = wire.flags & FLAG_BIG_ENDIAN,
		.credits = be16toh(wire.credits),
		.target = sge_decode(wire.target),
		.buffer = sge_decode(wire.buffer),
	};
	if (wire.flags & FLAG_IOMAP)
		data->iomap_size = rs_iomap_size_unpack(wire.iomap_size);
	return 0;
}
