/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rpma_copy server ADDRESS PORT | client ADDRESS PORT: memory of the server by librpma. The server's
 * private data describes its memory. The client writes a pattern there, flushes it, reads it back and
 * compares; the server compares when the client has gone.
 */
#include <librpma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIZE   (1u << 20)
#define WRITES 16u

static void check(int err, const char *what)
{
	if (!err)
		return;
	printf("%s: %s\n", what, rpma_err_2str(err));
	exit(1);
}

#define CHECK(call) check((call), #call)

static unsigned char pattern(size_t at)
{
	return (unsigned char)(at * 7 + at / 251);
}

static void compare(const unsigned char *mem)
{
	for (size_t i = 0; i < SIZE; i++)
		if (mem[i] != pattern(i)) {
			printf("byte %zu is %u, not %u\n", i, mem[i], pattern(i));
			exit(1);
		}
}

static struct rpma_peer *peer_at(const char *address, enum rpma_util_ibv_context_type type)
{
	struct ibv_context *context;
	struct rpma_peer *peer;

	CHECK(rpma_utils_get_ibv_context(address, type, &context));
	CHECK(rpma_peer_new(context, &peer));
	return peer;
}

static void expect(struct rpma_conn *conn, enum rpma_conn_event wanted)
{
	enum rpma_conn_event event;

	CHECK(rpma_conn_next_event(conn, &event));
	if (event != wanted) {
		printf("event %s, not %s\n", rpma_utils_conn_event_2str(event),
		       rpma_utils_conn_event_2str(wanted));
		exit(1);
	}
}

static void serve(const char *address, const char *port)
{
	struct rpma_peer *peer = peer_at(address, RPMA_UTIL_IBV_CONTEXT_LOCAL);
	unsigned char *mem = aligned_alloc(4096, SIZE), descriptor[64];
	struct rpma_conn_private_data data = { .ptr = descriptor };
	struct rpma_mr_local *mr;
	struct rpma_conn_req *req;
	struct rpma_conn *conn;
	struct rpma_ep *ep;
	size_t size;

	memset(mem, 0, SIZE);
	CHECK(rpma_mr_reg(peer, mem, SIZE,
			  RPMA_MR_USAGE_WRITE_DST | RPMA_MR_USAGE_READ_SRC |
				  RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY,
			  &mr));
	CHECK(rpma_mr_get_descriptor_size(mr, &size));
	if (size > sizeof(descriptor))
		exit(1);
	CHECK(rpma_mr_get_descriptor(mr, descriptor));
	data.len = (uint8_t)size;
	CHECK(rpma_ep_listen(peer, address, port, &ep));
	CHECK(rpma_ep_next_conn_req(ep, NULL, &req));
	CHECK(rpma_conn_req_connect(&req, &data, &conn));
	expect(conn, RPMA_CONN_ESTABLISHED);
	expect(conn, RPMA_CONN_CLOSED);
	compare(mem);
	CHECK(rpma_conn_disconnect(conn));
	CHECK(rpma_conn_delete(&conn));
	CHECK(rpma_ep_shutdown(&ep));
	CHECK(rpma_mr_dereg(&mr));
	CHECK(rpma_peer_delete(&peer));
	free(mem);
}

static void wait_for_one(struct rpma_conn *conn, const void *context)
{
	struct rpma_cq *cq;
	struct ibv_wc wc;

	CHECK(rpma_conn_get_cq(conn, &cq));
	CHECK(rpma_cq_wait(cq));
	CHECK(rpma_cq_get_wc(cq, 1, &wc, NULL));
	if (wc.status != IBV_WC_SUCCESS || wc.wr_id != (uintptr_t)context) {
		printf("completion: %s\n", ibv_wc_status_str(wc.status));
		exit(1);
	}
}

static void transfer(struct rpma_conn *conn, struct rpma_mr_remote *remote,
		     struct rpma_mr_local *mr, unsigned char *mem)
{
	const size_t piece = SIZE / WRITES;

	for (size_t i = 0; i < SIZE; i++)
		mem[i] = pattern(i);
	for (size_t at = 0; at < SIZE; at += piece)
		CHECK(rpma_write(conn, remote, at, mr, at, piece, RPMA_F_COMPLETION_ON_ERROR,
				 NULL));
	CHECK(rpma_flush(conn, remote, 0, SIZE, RPMA_FLUSH_TYPE_VISIBILITY,
			 RPMA_F_COMPLETION_ALWAYS, mem));
	wait_for_one(conn, mem);
	memset(mem, 0, SIZE);
	CHECK(rpma_read(conn, mr, 0, remote, 0, SIZE, RPMA_F_COMPLETION_ALWAYS, remote));
	wait_for_one(conn, remote);
	compare(mem);
}

static void visit(const char *address, const char *port)
{
	struct rpma_peer *peer = peer_at(address, RPMA_UTIL_IBV_CONTEXT_REMOTE);
	unsigned char *mem = aligned_alloc(4096, SIZE);
	struct rpma_conn_private_data data;
	struct rpma_mr_remote *remote;
	struct rpma_conn_cfg *cfg;
	struct rpma_mr_local *mr;
	struct rpma_conn_req *req;
	struct rpma_conn *conn;

	CHECK(rpma_mr_reg(peer, mem, SIZE, RPMA_MR_USAGE_WRITE_SRC | RPMA_MR_USAGE_READ_DST, &mr));
	CHECK(rpma_conn_cfg_new(&cfg));
	CHECK(rpma_conn_cfg_set_sq_size(cfg, WRITES + 4));
	CHECK(rpma_conn_cfg_set_cq_size(cfg, WRITES + 4));
	CHECK(rpma_conn_req_new(peer, address, port, cfg, &req));
	CHECK(rpma_conn_req_connect(&req, NULL, &conn));
	expect(conn, RPMA_CONN_ESTABLISHED);
	CHECK(rpma_conn_get_private_data(conn, &data));
	CHECK(rpma_mr_remote_from_descriptor(data.ptr, data.len, &remote));
	transfer(conn, remote, mr, mem);
	CHECK(rpma_mr_remote_delete(&remote));
	CHECK(rpma_conn_disconnect(conn));
	expect(conn, RPMA_CONN_CLOSED);
	CHECK(rpma_conn_delete(&conn));
	CHECK(rpma_conn_cfg_delete(&cfg));
	CHECK(rpma_mr_dereg(&mr));
	CHECK(rpma_peer_delete(&peer));
	free(mem);
}

int main(int argc, char **argv)
{
	if (argc != 4)
		return 2;
	if (!strcmp(argv[1], "server"))
		serve(argv[2], argv[3]);
	else
		visit(argv[2], argv[3]);
	printf("%s: all %u bytes agree\n", argv[1], SIZE);
	return 0;
}
