/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Blocks of pcapng (draft-ietf-opsawg-pcapng), in host byte order:
 *
 *	section header     type 0x0a0d0d0a, byte-order magic, version 1.0, length unknown
 *	interface          type 1, link type Ethernet, timestamps in nanoseconds
 *	enhanced packet    type 6, interface 0, timestamp, frame, comment, direction
 *
 * The first two blocks are the same for every process; a process that finds the file empty writes them,
 * holding a lock on the file. Packets follow by appending writes of whole blocks.
 */
#include "roce/capture.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "roce/encode.h"
#include "roce/icrc.h"
#include "roce/ip_header.h"
#include "util/api.h"
#include "util/explain.h"
#include "util/file_limit.h"

enum {
	LINK_ETHERNET = 1,
	OPT_END = 0,
	OPT_COMMENT = 1,
	OPT_IF_NAME = 2,
	OPT_EPB_FLAGS = 2,
	OPT_SHB_APPLICATION = 4,
	OPT_IF_TSRESOL = 9,
	FLAG_INBOUND = 1,
	FLAG_OUTBOUND = 2,

	ETHERNET = 14,
	FRAME_HEADERS = ETHERNET + ROCE_IPV6_BYTES + ROCE_UDP_BYTES,
	MAX_COMMENT = 512,
	MAX_BLOCK = 32 + FRAME_HEADERS + ROCE_MAX_PACKET + MAX_COMMENT + 64,
	BUFFER = 256 << 10,
	FLUSH_BYTES = 64 << 10, /* buffered bytes that are written at once */
};

struct roce_capture {
	struct roce_inspect_flag enabled; /* first member: see roce_capture_on() */
	pthread_mutex_t lock;
	int fd;
	pid_t pid; /* owner of the buffer: a child must not write its parent's packets */
	size_t used;
	uint64_t buffered; /* frames */
	uint64_t frames;
	uint64_t lost;
	char tag[48];
	uint8_t buf[BUFFER];
};

_Static_assert(offsetof(struct roce_capture, enabled) == 0, "roce_capture_on() reads it");

/* ---- writing blocks ---- */

static uint8_t *put(uint8_t *p, const void *data, size_t len)
{
	memcpy(p, data, len);
	return p + len;
}

static uint8_t *put_u32(uint8_t *p, uint32_t v)
{
	return put(p, &v, sizeof(v));
}

static uint8_t *put_padded(uint8_t *p, const void *data, size_t len)
{
	p = put(p, data, len);
	while (len++ & 3)
		*p++ = 0;
	return p;
}

static uint8_t *put_option(uint8_t *p, uint16_t code, const void *data, uint16_t len)
{
	p = put(p, &code, sizeof(code));
	p = put(p, &len, sizeof(len));
	return put_padded(p, data, len);
}

/* Writes the block's length at both ends. */
static uint8_t *finish(uint8_t *start, uint8_t *p)
{
	put_u32(start + 4, p + 4 - start);
	return put_u32(p, p + 4 - start);
}

static size_t file_head(uint8_t *out)
{
	static const char application[] = "Verbena " VB_VERSION, name[] = "verbena";
	const uint16_t version[2] = { 1, 0 }, link[2] = { LINK_ETHERNET, 0 };
	const uint8_t nanoseconds = 9;
	const uint64_t unknown = UINT64_MAX;
	uint8_t *p = out, *block = out;

	p = put_u32(p, 0x0a0d0d0a);
	p = put_u32(p, 0);
	p = put_u32(p, 0x1a2b3c4d);
	p = put(p, version, sizeof(version));
	p = put(p, &unknown, sizeof(unknown));
	p = put_option(p, OPT_SHB_APPLICATION, application, sizeof(application) - 1);
	p = put_option(p, OPT_END, "", 0);
	p = finish(block, p);

	block = p;
	p = put_u32(p, 1);
	p = put_u32(p, 0);
	p = put(p, link, sizeof(link));
	p = put_u32(p, 0); /* no limit of captured bytes */
	p = put_option(p, OPT_IF_NAME, name, sizeof(name) - 1);
	p = put_option(p, OPT_IF_TSRESOL, &nanoseconds, 1);
	p = put_option(p, OPT_END, "", 0);
	return finish(block, p) - out;
}

/* ---- frames ---- */

/* Groups: the MAC address that RFC 1112 or RFC 2464 derives from theirs. Hosts: a made-up local one. */
static void put_mac(uint8_t *mac, const struct roce_addr *a)
{
	bool ipv4 = roce_addr_is_ipv4(a);

	if (roce_addr_is_multicast(a)) {
		mac[0] = ipv4 ? 0x01 : 0x33;
		mac[1] = ipv4 ? 0x00 : 0x33;
		memcpy(mac + 2, a->gid + 12, 4);
		if (ipv4) {
			mac[2] = 0x5e;
			mac[3] &= 0x7f;
		}
		return;
	}
	mac[0] = 0x02;
	mac[1] = ipv4 ? 0x00 : a->gid[11];
	memcpy(mac + 2, a->gid + 12, 4);
}

/* Writes the frame; returns its end. The UDP checksum may be 0 with IPv4 (RFC 768), not with IPv6. */
static uint8_t *put_frame(uint8_t *p, const struct roce_frame *f, const uint8_t *packet, size_t len)
{
	const struct roce_ip fields = {
		.src = f->src.gid,
		.dst = f->dst.gid,
		.id = f->ip_id,
		.tclass = f->tclass,
		.ttl = f->ttl,
		.proto = IPPROTO_UDP,
	};
	bool ipv4 = roce_addr_is_ipv4(&f->src);
	size_t udp_len = ROCE_UDP_BYTES + len;
	uint8_t *ip = p + ETHERNET, *udp = ip + (ipv4 ? ROCE_IPV4_BYTES : ROCE_IPV6_BYTES);
	uint32_t sum;

	put_mac(p, &f->dst);
	put_mac(p + 6, &f->src);
	roce_put16(p + 12, ipv4 ? 0x0800 : 0x86dd);
	if (ipv4)
		roce_put_ipv4(ip, &fields, ROCE_IPV4_BYTES + udp_len);
	else
		roce_put_ipv6(ip, &fields, udp_len);
	roce_put16(udp, f->sport);
	roce_put16(udp + 2, f->dport);
	roce_put16(udp + 4, udp_len);
	roce_put16(udp + 6, 0);
	memcpy(udp + 8, packet, len);
	if (!ipv4) {
		sum = roce_checksum_add(IPPROTO_UDP + udp_len, ip + 8, 32);
		sum = roce_checksum_finish(roce_checksum_add(sum, udp, udp_len));
		roce_put16(udp + 6, sum ? sum : 0xffff);
	}
	return udp + udp_len;
}

static void put_block(struct roce_capture *cap, const struct roce_frame *f, const uint8_t *packet,
		      size_t len, const char *comment)
{
	uint8_t *block = cap->buf + cap->used, *p = block, *data, *end;
	uint32_t flags = f->out ? FLAG_OUTBOUND : FLAG_INBOUND;
	char text[MAX_COMMENT];
	struct timespec t;
	uint64_t stamp;
	int text_len;

	clock_gettime(CLOCK_REALTIME, &t);
	stamp = t.tv_sec * 1000000000ull + t.tv_nsec;
	p = put_u32(p, 6);
	p = put_u32(p, 0);
	p = put_u32(p, 0); /* interface */
	p = put_u32(p, stamp >> 32);
	p = put_u32(p, stamp);
	data = p + 8;
	end = put_frame(data, f, packet, len);
	put_u32(p, end - data);
	put_u32(p + 4, end - data);
	for (p = end; (p - data) & 3;)
		*p++ = 0;
	text_len = snprintf(text, sizeof(text), "%s%s%s", cap->tag, comment ? ": " : "",
			    comment ? comment : "");
	if (text_len >= (int)sizeof(text))
		text_len = sizeof(text) - 1;
	p = put_option(p, OPT_COMMENT, text, text_len);
	p = put_option(p, OPT_EPB_FLAGS, &flags, sizeof(flags));
	p = put_option(p, OPT_END, "", 0);
	p = finish(block, p);
	cap->used = p - cap->buf;
	cap->frames++;
	cap->buffered++;
}

/* ---- the file ---- */

static void flush(struct roce_capture *cap)
{
	int err;

	if (!cap->used)
		return;
	err = file_append(cap->fd, cap->buf, cap->used);
	cap->used = 0;
	if (err) {
		cap->lost += cap->buffered;
		roce_inspect_flag_set(&cap->enabled, false);
		explain_note("the capture ends: %s", strerror(-err));
	}
	cap->buffered = 0;
}

/* Discards the parent's packets after a fork. Lock held. */
static void adopt(struct roce_capture *cap)
{
	pid_t self = getpid();

	if (cap->pid == self)
		return;
	cap->pid = self;
	cap->used = cap->buffered = 0;
	snprintf(cap->tag, sizeof(cap->tag), "%.24s[%d]", program_invocation_short_name, self);
}

/* Writes the first two blocks into an empty file; -EINVAL when another one does not start with them. */
static int check_head(int fd, const char *path)
{
	uint8_t want[256], have[256];
	size_t len = file_head(want);
	struct stat st;
	int err = 0;

	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return file_append(fd, want, len);
	if (flock(fd, LOCK_EX))
		return -errno;
	if (fstat(fd, &st))
		err = -errno;
	else if (!st.st_size)
		err = file_append(fd, want, len);
	else if (pread(fd, have, len, 0) != (ssize_t)len || memcmp(have, want, len))
		err = explain(EINVAL,
			      "%s exists and is not a capture of this version of Verbena, so "
			      "packets cannot be appended",
			      path);
	flock(fd, LOCK_UN);
	return err;
}

int roce_capture_create(struct roce_capture **out)
{
	struct roce_capture *cap = malloc(sizeof(*cap));

	if (!cap)
		return -ENOMEM;
	memset(cap, 0, offsetof(struct roce_capture, buf));
	pthread_mutex_init(&cap->lock, NULL);
	cap->fd = -1;
	*out = cap;
	return 0;
}

void roce_capture_destroy(struct roce_capture *cap)
{
	if (!cap)
		return;
	roce_capture_stop(cap);
	pthread_mutex_destroy(&cap->lock);
	free(cap);
}

int roce_capture_start(struct roce_capture *cap, const char *path)
{
	int fd, err;

	fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (fd < 0 && errno == ENXIO)
		fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
	if (fd < 0)
		return explain(errno, "cannot capture to %s: %s", path, strerror(errno));
	err = check_head(fd, path);
	if (err)
		goto close_fd;
	pthread_mutex_lock(&cap->lock);
	if (cap->fd >= 0) {
		pthread_mutex_unlock(&cap->lock);
		err = explain(EALREADY, "a capture is on; stop it before starting one to %s", path);
		goto close_fd;
	}
	adopt(cap);
	cap->fd = fd;
	cap->used = cap->buffered = 0;
	cap->frames = cap->lost = 0;
	roce_inspect_flag_set(&cap->enabled, true);
	pthread_mutex_unlock(&cap->lock);
	return 0;
close_fd:
	close(fd);
	return err;
}

void roce_capture_stop(struct roce_capture *cap)
{
	pthread_mutex_lock(&cap->lock);
	if (cap->fd >= 0) {
		adopt(cap);
		roce_inspect_flag_set(&cap->enabled, false);
		flush(cap);
		close(cap->fd);
		cap->fd = -1;
	}
	pthread_mutex_unlock(&cap->lock);
}

void roce_capture_lock(struct roce_capture *cap)
{
	pthread_mutex_lock(&cap->lock);
}

void roce_capture_unlock(struct roce_capture *cap)
{
	pthread_mutex_unlock(&cap->lock);
}

void roce_capture_frame(struct roce_capture *cap, const struct roce_frame *frame,
			const uint8_t *packet, size_t len, const char *comment)
{
	pthread_mutex_lock(&cap->lock);
	if (roce_capture_on(cap)) {
		adopt(cap);
		/* A datagram of another protocol may be longer than any packet. */
		len = len > ROCE_MAX_PACKET ? ROCE_MAX_PACKET : len;
		put_block(cap, frame, packet, len, comment);
		if (cap->used > FLUSH_BYTES)
			flush(cap);
	}
	pthread_mutex_unlock(&cap->lock);
}

_Static_assert(FLUSH_BYTES + MAX_BLOCK <= BUFFER, "another block always fits");

void roce_capture_packet(struct roce_capture *cap, const struct roce_frame *frame,
			 const struct roce_pkt *pkt, uint16_t pkey, const struct iovec *pieces,
			 size_t count, const char *comment)
{
	uint8_t packet[ROCE_MAX_PACKET];
	struct roce_icrc_flow flow;
	size_t len = roce_encode(pkt, pkey, packet);
	uint32_t icrc;

	for (size_t i = 0; i < count; i++)
		len = put(packet + len, pieces[i].iov_base, pieces[i].iov_len) - packet;
	memset(packet + len, 0, roce_pad(pkt->len));
	len += roce_pad(pkt->len);
	roce_icrc_flow_init(&flow, &frame->src, &frame->dst, frame->sport, frame->dport);
	icrc = htole32(roce_icrc_compute(&flow, packet, len, frame->ip_id));
	memcpy(packet + len, &icrc, sizeof(icrc));
	roce_capture_frame(cap, frame, packet, len + sizeof(icrc), comment);
}

void roce_capture_flush(struct roce_capture *cap)
{
	pthread_mutex_lock(&cap->lock);
	if (cap->fd >= 0) {
		adopt(cap);
		flush(cap);
	}
	pthread_mutex_unlock(&cap->lock);
}

void roce_capture_count(struct roce_capture *cap, uint64_t *frames, uint64_t *lost)
{
	pthread_mutex_lock(&cap->lock);
	*frames = cap->frames;
	*lost = cap->lost;
	pthread_mutex_unlock(&cap->lock);
}
