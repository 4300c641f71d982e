/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * /dev/infiniband/umadN as programs see it under `verbena run` with the default adapters: the kernel's interface, and the
 * subnet administrator of the InfiniBand port.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <rdma/ib_user_mad.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define CLASS    "/sys/class/infiniband"
#define SA_CLASS 3
#define TID      0x12345678u

enum {
	GET = 1,
	SET = 2,
	GET_TABLE = 0x12,
	DELETE = 0x15,
	RESPONSE = 0x80,
	CLASS_PORT_INFO = 0x01,
	SERVICE = 0x31,
	PATH = 0x35,
	MCMEMBER = 0x38,
};

#define MC_MASK   (1 << 0 | 1 << 1 | 1 << 2 | 1 << 16) /* MGID, PortGID, Q_Key, JoinState */
#define PATH_MASK (1 << 2 | 1 << 3)                    /* DGID, SGID */

struct mad {
	uint8_t base_version, mgmt_class, class_version, method;
	uint16_t status, class_specific;
	uint32_t tid_high, tid;
	uint16_t attr, reserved;
	uint32_t attr_mod;
	uint8_t rmpp[12], sm_key[8];
	uint16_t attr_offset, reserved2;
	uint64_t mask;
	uint8_t data[200];
} __attribute__((packed));

struct packet {
	struct ib_user_mad_hdr hdr;
	struct mad mad;
} __attribute__((packed));

_Static_assert(sizeof(struct packet) == 64 + 256, "a header and a MAD");

static const uint8_t mgid[16] = { 0xff, 0x12, 0xa0, 0x1c, 0xfe, 0x80, 0,    0,
				  0,    0,    0,    0,    0,    0,    0x12, 0x35 };

static void read_text(const char *path, char *out, size_t size)
{
	FILE *f = fopen(path, "r");

	assert_non_null(f);
	assert_non_null(fgets(out, (int)size, f));
	out[strcspn(out, "\n")] = '\0';
	fclose(f);
}

/* The device of an adapter's only port. */
static void device_of(const char *adapter, char path[64])
{
	char file[96], text[64];

	for (int i = 0; i < 4; i++) {
		snprintf(file, sizeof(file), "/sys/class/infiniband_mad/umad%d/ibdev", i);
		if (access(file, F_OK))
			break;
		read_text(file, text, sizeof(text));
		snprintf(path, 64, "/dev/infiniband/umad%d", i);
		if (!strcmp(text, adapter))
			return;
	}
	fail_msg("no umad device of %s", adapter);
}

static int open_port(const char *adapter)
{
	char path[64];
	int fd;

	device_of(adapter, path);
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

/* With the usual header, which has a P_Key index. */
static int open_agent(const char *adapter, uint32_t *id)
{
	struct ib_user_mad_reg_req req = {
		.qpn = 1, .mgmt_class = SA_CLASS, .mgmt_class_version = 2, .rmpp_version = 1
	};
	int fd = open_port(adapter);

	assert_int_equal(ioctl(fd, IB_USER_MAD_ENABLE_PKEY), 0);
	assert_int_equal(ioctl(fd, IB_USER_MAD_REGISTER_AGENT, &req), 0);
	*id = req.id;
	return fd;
}

static uint16_t lid_of(const char *adapter, const char *name)
{
	char path[128], text[64];

	snprintf(path, sizeof(path), CLASS "/%s/ports/1/%s", adapter, name);
	read_text(path, text, sizeof(text));
	return (uint16_t)strtoul(text, NULL, 0);
}

static void gid_of(const char *adapter, uint8_t gid[16])
{
	char path[128], text[64];

	snprintf(path, sizeof(path), CLASS "/%s/ports/1/gids/0", adapter);
	read_text(path, text, sizeof(text));
	assert_int_equal(inet_pton(AF_INET6, text, gid), 1);
}

static struct packet request(uint32_t agent, uint8_t method, uint16_t attr)
{
	return (struct packet){
		.hdr = { .id = agent,
			 .timeout_ms = 10,
			 .retries = 2,
			 .qpn = htobe32(1),
			 .qkey = htobe32(0x80010000),
			 .lid = htobe16(lid_of("mlx4_0", "sm_lid")) },
		.mad = { .base_version = 1,
			 .mgmt_class = SA_CLASS,
			 .class_version = 2,
			 .method = method,
			 .tid_high = htobe32(0xffffffff),
			 .tid = htobe32(TID),
			 .attr = htobe16(attr) },
	};
}

static void wait_readable(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	assert_int_equal(poll(&p, 1, 60000), 1);
	assert_int_equal(p.revents, POLLIN);
}

/* The status of the response, which takes the request's place. */
static uint16_t ask(int fd, struct packet *p)
{
	assert_int_equal(write(fd, p, sizeof(*p)), sizeof(*p));
	wait_readable(fd);
	assert_int_equal(read(fd, p, sizeof(*p)), sizeof(*p));
	assert_int_equal(p->hdr.status, 0);
	assert_int_equal(p->hdr.length, sizeof(*p));
	assert_int_equal(be32toh(p->hdr.qpn), 1);
	assert_int_equal(be32toh(p->mad.tid), TID);
	return be16toh(p->mad.status);
}

static struct packet join_request(uint32_t agent, uint8_t method)
{
	struct packet p = request(agent, method, MCMEMBER);

	p.mad.mask = htobe64(MC_MASK);
	memcpy(p.mad.data, mgid, 16);
	gid_of("mlx4_0", p.mad.data + 16);
	p.mad.data[35] = 0x42; /* Q_Key */
	p.mad.data[48] = 1;    /* full member */
	return p;
}

static void joining_a_group_tells_its_lid_and_leaving_it_is_confirmed(void **state)
{
	uint32_t agent;
	int fd = open_agent("mlx4_0", &agent);
	struct packet p = join_request(agent, SET);

	assert_int_equal(ask(fd, &p), 0);
	assert_int_equal(p.hdr.id, agent);
	assert_int_equal(be16toh(p.hdr.lid), lid_of("mlx4_0", "sm_lid"));
	assert_int_equal(p.mad.method, GET | RESPONSE);
	assert_memory_equal(p.mad.data, mgid, 16);
	assert_int_equal(p.mad.data[35], 0x42);
	/* The rule of librdmacm: 0xc000 and the last 14 bits of the MGID but one. */
	assert_int_equal(p.mad.data[36] << 8 | p.mad.data[37], 0xc000 | 0x1234);
	assert_int_equal(p.mad.data[38] >> 6, 2);
	assert_int_equal(p.mad.data[40] << 8 | p.mad.data[41], 0xffff);
	p = join_request(agent, DELETE);
	assert_int_equal(ask(fd, &p), 0);
	assert_int_equal(p.mad.method, DELETE | RESPONSE);
	close(fd);
}

static void a_group_without_an_mgid_gets_one(void **state)
{
	uint32_t agent;
	int fd = open_agent("mlx4_0", &agent);
	struct packet p = join_request(agent, SET);

	memset(p.mad.data, 0, 16);
	assert_int_equal(ask(fd, &p), 0);
	assert_int_equal(p.mad.data[0], 0xff);
	close(fd);
}

static void wrong_requests_are_refused_with_a_status(void **state)
{
	uint32_t agent;
	int fd = open_agent("mlx4_0", &agent);
	struct packet p = join_request(agent, SET);

	p.mad.data[31] ^= 1; /* the GID of a port elsewhere */
	assert_int_equal(ask(fd, &p), 0x0500);
	p = join_request(agent, SET);
	p.mad.data[48] = 0;
	assert_int_equal(ask(fd, &p), 0x0200);
	p = join_request(agent, SET);
	p.mad.data[0] = 0xfe; /* no group */
	assert_int_equal(ask(fd, &p), 0x0200);
	p = join_request(agent, DELETE);
	p.mad.mask = htobe64(MC_MASK & ~1);
	assert_int_equal(ask(fd, &p), 0x0600);
	p = join_request(agent, GET_TABLE);
	assert_int_equal(ask(fd, &p), 0x000c);
	p = request(agent, GET, SERVICE);
	assert_int_equal(ask(fd, &p), 0x000c);
	p = request(agent, GET, CLASS_PORT_INFO);
	p.mad.class_version = 1;
	assert_int_equal(ask(fd, &p), 0x0004);
	p = request(agent, GET, CLASS_PORT_INFO);
	assert_int_equal(ask(fd, &p), 0);
	close(fd);
}

static void a_path_has_the_lids_of_its_ends(void **state)
{
	uint16_t lid = lid_of("mlx4_0", "lid");
	uint32_t agent;
	int fd = open_agent("mlx4_0", &agent);
	struct packet p = request(agent, GET, PATH);

	p.mad.mask = htobe64(PATH_MASK);
	gid_of("mlx4_0", p.mad.data + 8);
	gid_of("mlx4_0", p.mad.data + 24);
	assert_int_equal(ask(fd, &p), 0);
	assert_int_equal(p.mad.data[40] << 8 | p.mad.data[41], lid);
	assert_int_equal(p.mad.data[42] << 8 | p.mad.data[43], lid);
	p = request(agent, GET, PATH);
	p.mad.mask = htobe64(PATH_MASK);
	gid_of("mlx4_0", p.mad.data + 24);
	p.mad.data[8] = 0x20;
	assert_int_equal(ask(fd, &p), 0x0300);
	close(fd);
}

static void expect_timeout(int fd, struct packet *p, size_t head)
{
	struct packet back;

	assert_int_equal(write(fd, p, head + sizeof(p->mad)), head + sizeof(p->mad));
	wait_readable(fd);
	/* The kernel gives back the header of the MAD. */
	assert_int_equal(read(fd, &back, sizeof(back)), head + 24);
	assert_int_equal(back.hdr.status, ETIMEDOUT);
	assert_int_equal(back.hdr.id, p->hdr.id);
	assert_int_equal(back.hdr.length, head + 24);
}

static void a_request_without_an_answer_comes_back_with_etimedout(void **state)
{
	uint32_t agent;
	int fd = open_agent("mlx4_0", &agent);
	struct packet p = request(agent, GET, CLASS_PORT_INFO);

	p.hdr.lid = htobe16(0xbffe);
	expect_timeout(fd, &p, sizeof(p.hdr));
	close(fd);
	/* On Ethernet no subnet administrator is. */
	fd = open_agent("mlx5_0", &agent);
	p = request(agent, GET, CLASS_PORT_INFO);
	expect_timeout(fd, &p, sizeof(p.hdr));
	close(fd);
}

static void headers_without_a_pkey_index_are_shorter(void **state)
{
	struct ib_user_mad_reg_req req = { .qpn = 1,
					   .mgmt_class = SA_CLASS,
					   .mgmt_class_version = 2 };
	int fd = open_port("mlx4_0");
	size_t head = sizeof(struct ib_user_mad_hdr_old);
	struct packet p;
	uint8_t bytes[sizeof(p)];

	assert_int_equal(ioctl(fd, IB_USER_MAD_REGISTER_AGENT, &req), 0);
	assert_int_equal(ioctl(fd, IB_USER_MAD_ENABLE_PKEY), -1);
	assert_int_equal(errno, EINVAL);
	p = join_request(req.id, SET);
	memcpy(bytes, &p, head);
	memcpy(bytes + head, &p.mad, sizeof(p.mad));
	assert_int_equal(write(fd, bytes, head + sizeof(p.mad)), head + sizeof(p.mad));
	wait_readable(fd);
	assert_int_equal(read(fd, bytes, sizeof(bytes)), head + sizeof(p.mad));
	memcpy(&p.mad, bytes + head, sizeof(p.mad));
	assert_int_equal(p.mad.status, 0);
	assert_int_equal(p.mad.method, GET | RESPONSE);
	close(fd);
}

static int register_fails(int fd, struct ib_user_mad_reg_req req)
{
	errno = 0;
	return ioctl(fd, IB_USER_MAD_REGISTER_AGENT, &req) ? errno : 0;
}

static void agents_are_refused_as_by_the_kernel(void **state)
{
	struct ib_user_mad_reg_req good = { .qpn = 1, .mgmt_class = 7, .mgmt_class_version = 2 },
				   bad;
	struct ib_user_mad_reg_req2 req2 = { .qpn = 1, .flags = 6 };
	int fd = open_port("mlx4_0"), other = open_port("mlx4_0"), roce = open_port("mlx5_0");
	uint32_t none = 31;

	bad = good;
	bad.qpn = 2;
	assert_int_equal(register_fails(fd, bad), EINVAL);
	bad = good;
	bad.mgmt_class = 90;
	assert_int_equal(register_fails(fd, bad), EINVAL);
	bad = good;
	bad.mgmt_class = 0x31; /* of a vendor, without its number */
	assert_int_equal(register_fails(fd, bad), EINVAL);
	assert_int_equal(register_fails(roce, (struct ib_user_mad_reg_req){ .qpn = 0 }),
			 EPROTONOSUPPORT);
	assert_int_equal(ioctl(fd, IB_USER_MAD_REGISTER_AGENT2, &req2), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(req2.flags, IB_USER_MAD_REG_FLAGS_CAP);
	assert_int_equal(ioctl(fd, IB_USER_MAD_UNREGISTER_AGENT, &none), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(ioctl(fd, _IO(RDMA_IOCTL_MAGIC, 77)), -1);
	assert_int_equal(errno, ENOTTY);
	/* One agent has the requests of a method. */
	good.method_mask[0] = 1 << 3;
	assert_int_equal(register_fails(fd, good), 0);
	assert_int_equal(register_fails(other, good), EINVAL);
	close(fd);
	/* The other end learns of it a moment later, as of the kernel's own release. */
	while (register_fails(other, good) == EINVAL)
		;
	close(other);
	close(roce);
}

static void numbers_of_agents_end_and_come_again(void **state)
{
	struct ib_user_mad_reg_req req = { .qpn = 1 };
	int fd = open_port("mlx4_0");
	uint32_t id = 5;

	for (uint32_t i = 0; i < 32; i++) {
		assert_int_equal(ioctl(fd, IB_USER_MAD_REGISTER_AGENT, &req), 0);
		assert_int_equal(req.id, i);
	}
	assert_int_equal(ioctl(fd, IB_USER_MAD_REGISTER_AGENT, &req), -1);
	assert_int_equal(errno, ENOMEM);
	assert_int_equal(ioctl(fd, IB_USER_MAD_UNREGISTER_AGENT, &id), 0);
	assert_int_equal(ioctl(fd, IB_USER_MAD_REGISTER_AGENT, &req), 0);
	assert_int_equal(req.id, 5);
	close(fd);
}

static void closed_descriptors_make_room_for_others(void **state)
{
	uint32_t agent;
	int i;

	for (i = 0; i < 600; i++)
		close(open_agent("mlx4_0", &agent));
}

static void processes_do_not_see_each_others_answers(void **state)
{
	pid_t pids[4];
	int i, status;

	for (i = 0; i < 4; i++) {
		pids[i] = fork();
		if (!pids[i]) {
			for (int k = 0; k < 20; k++) {
				uint32_t agent;
				int fd = open_agent("mlx4_0", &agent);
				struct packet p = join_request(agent, SET);

				p.mad.data[15] = (uint8_t)(2 * i + 8 * k);
				assert_int_equal(ask(fd, &p), 0);
				assert_int_equal(p.mad.data[37], p.mad.data[15]);
				close(fd);
			}
			_exit(0);
		}
	}
	for (i = 0; i < 4; i++) {
		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		assert_int_equal(status, 0);
	}
}

/* Not of another adapter's, nor of files of the tree that are no devices. */
static void ioctls_of_other_descriptors_are_the_kernels(void **state)
{
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	assert_int_equal(ioctl(fd, IB_USER_MAD_ENABLE_PKEY), -1);
	assert_int_equal(errno, ENOTTY);
	assert_int_equal(ioctl(-1, IB_USER_MAD_ENABLE_PKEY), -1);
	assert_int_equal(errno, EBADF);
	assert_int_equal(open("/dev/infiniband/umad9", O_RDWR | O_CLOEXEC), -1);
	assert_int_equal(errno, ENOENT);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(joining_a_group_tells_its_lid_and_leaving_it_is_confirmed),
		cmocka_unit_test(a_group_without_an_mgid_gets_one),
		cmocka_unit_test(wrong_requests_are_refused_with_a_status),
		cmocka_unit_test(a_path_has_the_lids_of_its_ends),
		cmocka_unit_test(a_request_without_an_answer_comes_back_with_etimedout),
		cmocka_unit_test(headers_without_a_pkey_index_are_shorter),
		cmocka_unit_test(agents_are_refused_as_by_the_kernel),
		cmocka_unit_test(numbers_of_agents_end_and_come_again),
		cmocka_unit_test(closed_descriptors_make_room_for_others),
		cmocka_unit_test(processes_do_not_see_each_others_answers),
		cmocka_unit_test(ioctls_of_other_descriptors_are_the_kernels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
