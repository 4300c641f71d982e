/* SPDX-License-Identifier: BSD-2-Clause */
#include "rsocket/option.h"

#include <endian.h>
#include <errno.h>
#include <infiniband/sa.h>
#include <netinet/tcp.h>
#include <rdma/rsocket.h>
#include <stdlib.h>
#include <string.h>

#include "rsocket/keepalive.h"
#include "util/explain.h"

static int unknown(int level, int name)
{
	return explain(ENOTSUP, "rsockets have no option %d of level %#x", name, level);
}

static int read_int(const void *value, socklen_t len, int *number)
{
	if (!value || len < sizeof(*number))
		return explain(EINVAL, "the option is an int, and its value has %u bytes", len);
	memcpy(number, value, sizeof(*number));
	return 0;
}

/* As much as there is room for, like getsockopt(). */
static int write_value(void *value, socklen_t *len, const void *from, socklen_t size)
{
	if (!value || !len)
		return explain(EFAULT, "there is nowhere to put the option's value");
	if (*len > size)
		*len = size;
	memcpy(value, from, *len);
	return 0;
}

static int write_int(void *value, socklen_t *len, int number)
{
	return write_value(value, len, &number, sizeof(number));
}

/* Buffers get twice what is asked for, as with sockets; no change once they are there. */
static void set_buffer(struct rs_stream *s, uint32_t *size, int number, uint32_t least)
{
	const int most = 1 << 29;

	pthread_mutex_lock(&s->base.lock);
	if (!rs_has_endpoint(s)) {
		*size = 2 * (uint32_t)(number < most ? number : most);
		if (number <= 0 || *size < least)
			*size = 2 * least;
	}
	pthread_mutex_unlock(&s->base.lock);
}

static int set_id_option(struct rs_stream *s, int option, bool *flag, int number)
{
	if (rdma_set_option(s->id, RDMA_OPTION_ID, option, &number, sizeof(number)))
		return -errno;
	*flag = number;
	return 0;
}

static int set_keepalive(struct rs_stream *s, int number)
{
	const int err = rs_keepalive_set(s, number);

	if (!err)
		s->base.options.keepalive = number;
	return err;
}

static int set_linger(struct rs_options *options, const void *value, socklen_t len)
{
	struct linger linger;

	if (!value || len < sizeof(linger))
		return explain(EINVAL, "SO_LINGER takes a struct linger, not %u bytes", len);
	memcpy(&linger, value, sizeof(linger));
	options->linger_off = !linger.l_onoff;
	return 0;
}

static int set_socket(struct rs_stream *s, int name, const void *value, socklen_t len)
{
	struct rs_options *options = &s->base.options;
	int number, err;

	if (name == SO_LINGER)
		return set_linger(options, value, len);
	err = read_int(value, len, &number);
	if (err)
		return err;
	switch (name) {
	case SO_REUSEADDR:
		return set_id_option(s, RDMA_OPTION_ID_REUSEADDR, &options->reuse_addr, number);
	case SO_RCVBUF:
		set_buffer(s, &s->base.sizes.recv_buf, number, 1);
		return 0;
	case SO_SNDBUF:
		set_buffer(s, &s->base.sizes.send_buf, number, RS_SEND_LOW);
		return 0;
	case SO_KEEPALIVE:
		return set_keepalive(s, number);
	case SO_OOBINLINE:
		options->oob_inline = number;
		return 0;
	default:
		return unknown(SOL_SOCKET, name);
	}
}

static int set_tcp(struct rs_stream *s, int name, const void *value, socklen_t len)
{
	int number, err = read_int(value, len, &number);

	if (err)
		return err;
	switch (name) {
	case TCP_KEEPIDLE:
		if (number <= 0)
			return explain(EINVAL, "a keep-alive period of %d s", number);
		s->base.options.keepalive_s = number;
		return rs_keepalive_rearm(s);
	case TCP_NODELAY:
		s->base.options.no_delay = number;
		return 0;
	case TCP_KEEPCNT: /* the adapter decides about retries, */
	case TCP_KEEPINTVL:
	case TCP_MAXSEG: /* and about packets */
		return 0;
	default:
		return unknown(IPPROTO_TCP, name);
	}
}

int rs_option_set_size(struct rs_sizes *sizes, int name, const void *value, socklen_t len)
{
	int number, err = read_int(value, len, &number);

	if (err)
		return err;
	if (number < 0)
		return explain(EINVAL, "a size of %d", number);
	if (number > RS_QUEUE_MAX)
		number = RS_QUEUE_MAX;
	switch (name) {
	case RDMA_SQSIZE:
		sizes->send_queue = number;
		return 0;
	case RDMA_RQSIZE:
		sizes->recv_queue = number;
		return 0;
	case RDMA_INLINE:
		sizes->inline_max = number;
		return 0;
	case RDMA_IOMAPSIZE:
		/* Rounded to what the connection data can carry. */
		sizes->iomap = rs_iomap_size_unpack(rs_iomap_size_pack(number));
		return 0;
	default:
		return unknown(SOL_RDMA, name);
	}
}

static int set_route(struct rs_stream *s, const void *value, socklen_t len)
{
	void *route;

	if (!value || !len || len % sizeof(struct ibv_path_data))
		return explain(EINVAL, "RDMA_ROUTE takes paths of %zu bytes each, not %u bytes",
			       sizeof(struct ibv_path_data), len);
	route = malloc(len);
	if (!route)
		return explain(ENOMEM, "no memory for a route");
	memcpy(route, value, len);
	free(s->route);
	s->route = route;
	s->route_len = len;
	return 0;
}

static int set_rdma(struct rs_stream *s, int name, const void *value, socklen_t len)
{
	int err;

	pthread_mutex_lock(&s->base.lock);
	if (s->phase > RS_LISTENING)
		err = explain(EINVAL, "options of level SOL_RDMA are set before connecting");
	else if (name == RDMA_ROUTE)
		err = set_route(s, value, len);
	else
		err = rs_option_set_size(&s->base.sizes, name, value, len);
	pthread_mutex_unlock(&s->base.lock);
	return err;
}

int rs_option_set(struct rs_stream *s, int level, int name, const void *value, socklen_t len)
{
	int number, err;

	switch (level) {
	case SOL_SOCKET:
		return set_socket(s, name, value, len);
	case IPPROTO_TCP:
		return set_tcp(s, name, value, len);
	case IPPROTO_IPV6:
		if (name != IPV6_V6ONLY)
			return unknown(level, name);
		err = read_int(value, len, &number);
		return err ? err
			   : set_id_option(s, RDMA_OPTION_ID_AFONLY, &s->base.options.v6_only,
					   number);
	case SOL_RDMA:
		return set_rdma(s, name, value, len);
	default:
		return unknown(level, name);
	}
}

static int take_error(struct rs_stream *s)
{
	const int error = s->error;

	s->error = 0;
	return error;
}

static int get_socket(struct rs_stream *s, int name, void *value, socklen_t *len)
{
	const struct rs_options *options = &s->base.options;
	const struct linger linger = { .l_onoff = !options->linger_off };

	switch (name) {
	case SO_REUSEADDR:
		return write_int(value, len, options->reuse_addr);
	case SO_KEEPALIVE:
		return write_int(value, len, options->keepalive);
	case SO_OOBINLINE:
		return write_int(value, len, options->oob_inline);
	case SO_RCVBUF:
		return write_int(value, len, s->base.sizes.recv_buf);
	case SO_SNDBUF:
		return write_int(value, len, s->base.sizes.send_buf);
	case SO_LINGER:
		return write_value(value, len, &linger, sizeof(linger));
	case SO_ERROR:
		return write_int(value, len, take_error(s));
	case SO_TYPE:
		return write_int(value, len, SOCK_STREAM);
	case SO_DOMAIN:
		return write_int(value, len, s->base.domain);
	case SO_ACCEPTCONN:
		return write_int(value, len, s->phase == RS_LISTENING);
	default:
		return unknown(SOL_SOCKET, name);
	}
}

/* The path's MTU, which is an enum ibv_mtu. */
static int max_segment(const struct rs_stream *s)
{
	return s->id->route.num_paths ? 1 << (7 + s->id->route.path_rec->mtu) : 2048;
}

static int get_tcp(struct rs_stream *s, int name, void *value, socklen_t *len)
{
	switch (name) {
	case TCP_KEEPCNT:
	case TCP_KEEPINTVL:
		return write_int(value, len, 1);
	case TCP_KEEPIDLE:
		return write_int(value, len, s->base.options.keepalive_s);
	case TCP_NODELAY:
		return write_int(value, len, s->base.options.no_delay);
	case TCP_MAXSEG:
		return write_int(value, len, max_segment(s));
	default:
		return unknown(IPPROTO_TCP, name);
	}
}

int rs_option_get_size(const struct rs_sizes *sizes, int name, void *value, socklen_t *len)
{
	switch (name) {
	case RDMA_SQSIZE:
		return write_int(value, len, sizes->send_queue);
	case RDMA_RQSIZE:
		return write_int(value, len, sizes->recv_queue);
	case RDMA_INLINE:
		return write_int(value, len, sizes->inline_max);
	case RDMA_IOMAPSIZE:
		return write_int(value, len, sizes->iomap);
	default:
		return unknown(SOL_RDMA, name);
	}
}

/* Selectors of MTU, rate and lifetime in a path record: exactly this value (IBTA 1.4 15.2.5.16). */
#define EXACTLY (2 << 6)

static struct ibv_path_data path_data(const struct ibv_sa_path_rec *rec)
{
	const uint32_t flow = be32toh(rec->flow_label) << 8 | rec->hop_limit;

	return (struct ibv_path_data){
		.flags = rec->preference,
		.path = { .dgid = rec->dgid,
			  .sgid = rec->sgid,
			  .dlid = rec->dlid,
			  .slid = rec->slid,
			  .flowlabel_hoplimit = htobe32(flow),
			  .tclass = rec->traffic_class,
			  .reversible_numpath = rec->reversible << 7 | 1,
			  .pkey = rec->pkey,
			  .qosclass_sl = htobe16(rec->sl),
			  .mtu = rec->mtu | EXACTLY,
			  .rate = rec->rate | EXACTLY,
			  .packetlifetime = rec->packet_life_time | EXACTLY },
	};
}

/* The paths that were set, or those that were resolved. */
static int get_route(const struct rs_stream *s, void *value, socklen_t *len)
{
	struct ibv_path_data path;
	socklen_t used = 0;

	if (!value || !len)
		return explain(EFAULT, "there is nowhere to put the route");
	if (*len < (s->route ? s->route_len : sizeof(path)))
		return explain(EINVAL, "the route does not fit into %u bytes", *len);
	if (s->route) {
		*len = s->route_len;
		memcpy(value, s->route, s->route_len);
		return 0;
	}
	for (int i = 0; i < s->id->route.num_paths && used + sizeof(path) <= *len; i++) {
		path = path_data(&s->id->route.path_rec[i]);
		memcpy((char *)value + used, &path, sizeof(path));
		used += sizeof(path);
	}
	*len = used;
	return 0;
}

static int get_any(struct rs_stream *s, int level, int name, void *value, socklen_t *len)
{
	switch (level) {
	case SOL_SOCKET:
		return get_socket(s, name, value, len);
	case IPPROTO_TCP:
		return get_tcp(s, name, value, len);
	case IPPROTO_IPV6:
		if (name != IPV6_V6ONLY)
			return unknown(level, name);
		return write_int(value, len, s->base.options.v6_only);
	case SOL_RDMA:
		return name == RDMA_ROUTE ? get_route(s, value, len)
					  : rs_option_get_size(&s->base.sizes, name, value, len);
	default:
		return unknown(level, name);
	}
}

int rs_option_get(struct rs_stream *s, int level, int name, void *value, socklen_t *len)
{
	int err;

	pthread_mutex_lock(&s->base.lock);
	err = get_any(s, level, name, value, len);
	pthread_mutex_unlock(&s->base.lock);
	return err;
}
