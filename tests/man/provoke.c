/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Errors that manual pages name, each provoked as the page says: a cause, what the call answers, and whether the page
 * lists that error. It runs in a network namespace with nothing but loopback, with VERBENA_PATH=wire.
 * usage: man-provoke FOLDER-OF-PAGES
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <infiniband/mlx4dv.h>
#include <infiniband/mlx5dv.h>
#include <rdma/rdma_cma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define TO_RTR                                                                                     \
	(IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |            \
	 IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)

static const char *folder;
static int wrong, checks;

static int page_lists(const char *page, int error)
{
	char path[512], line[512], word[32];
	int in_errors = 0, found = 0;
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s.3.md", folder, page);
	snprintf(word, sizeof(word), "**%s**", strerrorname_np(error));
	file = fopen(path, "r");
	if (!file) {
		perror(path);
		exit(1);
	}
	while (fgets(line, sizeof(line), file)) {
		if (line[0] == '#')
			in_errors = !strncmp(line, "# ERRORS", 8);
		if (in_errors && line[0] == '*' && strstr(line, word))
			found = 1;
	}
	fclose(file);
	return found;
}

static void check(const char *page, const char *cause, int wanted, int got)
{
	checks++;
	if (got != wanted)
		printf("%s, %s: %s instead of %s\n", page, cause,
		       got ? strerrorname_np(got) : "success", strerrorname_np(wanted));
	else if (!page_lists(page, wanted))
		printf("%s, %s: the page does not list %s\n", page, cause, strerrorname_np(wanted));
	else
		return;
	wrong++;
}

static void expect_success(const char *what, int error)
{
	if (!error)
		return;
	fprintf(stderr, "%s: %s\n", what, strerror(error));
	exit(1);
}

/* Calls that give a pointer, an errno, or -1 and errno. */
#define POINTER(page, cause, wanted, call)                                                         \
	check(page, cause, wanted, (errno = 0, (call) != NULL) ? 0 : errno)
#define NUMBER(page, cause, wanted, call) check(page, cause, wanted, call)
#define MINUS1(page, cause, wanted, call)                                                          \
	check(page, cause, wanted, (errno = 0, (call) != -1) ? 0 : errno)

static struct ibv_context *mlx5, *mlx4, *second;
static struct ibv_pd *pd5, *pd4;
static struct ibv_cq *cq5, *cq4;
static char memory[8192] __attribute__((aligned(4096)));

static struct ibv_context *open_device(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = NULL;

	for (int i = 0; list && list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			context = ibv_open_device(list[i]);
	if (!context) {
		perror(name);
		exit(1);
	}
	ibv_free_device_list(list);
	return context;
}

static struct ibv_qp *make_qp(struct ibv_pd *pd, struct ibv_cq *cq, enum ibv_qp_type type)
{
	struct ibv_qp_init_attr init = {
		.send_cq = cq, .recv_cq = cq, .qp_type = type, .cap = { 1, 1, 1, 1, 0 }
	};
	struct ibv_qp *qp = ibv_create_qp(pd, &init);

	if (!qp) {
		perror("ibv_create_qp");
		exit(1);
	}
	return qp;
}

static void address_handles(void)
{
	struct ibv_ah_attr good = { .port_num = 1, .is_global = 1 }, a;
	struct ibv_wc wc = { .wc_flags = IBV_WC_GRH };
	struct ibv_ah_attr made;
	struct ibv_grh grh;

	ibv_query_gid(mlx5, 1, 0, &good.grh.dgid);
	a = good, a.port_num = 2;
	POINTER("ibv_create_ah", "no such port", EINVAL, ibv_create_ah(pd5, &a));
	a = good, a.is_global = 0;
	POINTER("ibv_create_ah", "no GRH on Ethernet", EINVAL, ibv_create_ah(pd5, &a));
	a = (struct ibv_ah_attr){ .port_num = 1 };
	POINTER("ibv_create_ah", "neither LID nor GRH", EINVAL, ibv_create_ah(pd4, &a));
	a = good, memset(&a.grh.dgid, 0, 16);
	POINTER("ibv_create_ah", "a GID of zeros", EINVAL, ibv_create_ah(pd5, &a));
	a = good, a.grh.sgid_index = 255;
	POINTER("ibv_create_ah", "a GID beyond the table", EINVAL, ibv_create_ah(pd5, &a));
	a = good, a.static_rate = 77;
	POINTER("ibv_create_ah", "no rate", EINVAL, ibv_create_ah(pd5, &a));
	a = good, a.grh.sgid_index = 254;
	POINTER("ibv_create_ah", "an empty GID", ENODATA, ibv_create_ah(pd5, &a));

	memset(&grh, 0xaa, sizeof(grh));
	MINUS1("ibv_create_ah_from_wc", "no header", EPROTONOSUPPORT,
	       ibv_init_ah_from_wc(mlx5, 1, &wc, &grh, &made));
	MINUS1("ibv_create_ah_from_wc", "no such port", EINVAL,
	       ibv_init_ah_from_wc(mlx5, 2, &wc, &grh, &made));
	memset(&grh, 0, sizeof(grh));
	grh.version_tclass_flow = htonl(6 << 28);
	grh.next_hdr = 0x1b;
	inet_pton(AF_INET6, "2001:db8::77", &grh.dgid);
	MINUS1("ibv_create_ah_from_wc", "a destination of another host", ENOENT,
	       ibv_init_ah_from_wc(mlx4, 1, &wc, &grh, &made));
	inet_pton(AF_INET6, "ff0e::77", &grh.dgid);
	MINUS1("ibv_create_ah_from_wc", "to a group", EINVAL,
	       ibv_init_ah_from_wc(mlx4, 1, &wc, &grh, &made));
}

static void regions(void)
{
	int rw = IBV_ACCESS_LOCAL_WRITE;
	char *gone = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ibv_mr *mr;

	POINTER("ibv_reg_mr", "an unknown bit", EINVAL, ibv_reg_mr(pd5, memory, 64, 1 << 15));
	POINTER("ibv_reg_mr", "remote write alone", EINVAL,
		ibv_reg_mr(pd5, memory, 64, IBV_ACCESS_REMOTE_WRITE));
	POINTER("ibv_reg_mr", "length 0 at a page", EINVAL, ibv_reg_mr(pd5, memory, 0, rw));
	POINTER("ibv_reg_mr", "wraps around", EINVAL, ibv_reg_mr(pd5, memory, SIZE_MAX, rw));
	POINTER("ibv_reg_mr", "another place in a page", EINVAL,
		ibv_reg_mr_iova(pd5, memory, 64, 8, rw));
	POINTER("ibv_reg_mr", "read-only memory", EFAULT, ibv_reg_mr(pd5, gone, 4096, rw));
	munmap(gone, 4096);
	POINTER("ibv_reg_mr", "not mapped", EFAULT, ibv_reg_mr(pd5, gone, 4096, 0));
	POINTER("ibv_reg_mr", "on demand on mlx4", EOPNOTSUPP,
		ibv_reg_mr(pd4, memory, 64, IBV_ACCESS_ON_DEMAND));
	POINTER("ibv_reg_mr", "a null region of mlx4", EOPNOTSUPP, ibv_alloc_null_mr(pd4));
	mr = ibv_reg_mr(pd5, memory, 4096, rw | IBV_ACCESS_MW_BIND);
	check("ibv_reg_mr", "flags 0", EINVAL, ibv_rereg_mr(mr, 0, NULL, NULL, 0, 0) ? errno : 0);
	ibv_dereg_mr(mr);
}

static void windows(void)
{
	struct ibv_mw *two = ibv_alloc_mw(pd5, IBV_MW_TYPE_2),
		      *one = ibv_alloc_mw(pd5, IBV_MW_TYPE_1);
	struct ibv_pd *other = ibv_alloc_pd(mlx5);
	struct ibv_mr *mr =
		ibv_reg_mr(other, memory, 64, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
	struct ibv_mw_bind bind = { .bind_info = {
					    .mr = mr, .addr = (uintptr_t)memory, .length = 64 } };
	struct ibv_qp *qp = make_qp(pd5, cq5, IBV_QPT_RC);

	POINTER("ibv_alloc_mw", "an unknown type", EINVAL, ibv_alloc_mw(pd5, 9));
	NUMBER("ibv_alloc_mw", "a window of type 2", EINVAL, ibv_bind_mw(qp, two, &bind));
	NUMBER("ibv_alloc_mw", "another domain", EPERM, ibv_bind_mw(qp, one, &bind));
	bind.bind_info.mr = NULL;
	NUMBER("ibv_alloc_mw", "no region", EINVAL, ibv_bind_mw(qp, one, &bind));
	ibv_destroy_qp(qp);
	ibv_dealloc_mw(one);
	ibv_dealloc_mw(two);
	ibv_dereg_mr(mr);
	ibv_dealloc_pd(other);
}

static void completion_queues(void)
{
	struct ibv_modify_cq_attr attr = { .attr_mask = 1u << 9 };
	struct ibv_comp_channel *channel = ibv_create_comp_channel(second);
	struct ibv_cq_init_attr_ex ex = { .cqe = 1, .wc_flags = 1ull << 40 };
	struct ibv_qp *qp = make_qp(pd5, cq5, IBV_QPT_RC);

	POINTER("ibv_create_cq", "0 entries", EINVAL, ibv_create_cq(mlx5, 0, NULL, NULL, 0));
	POINTER("ibv_create_cq", "too many entries", EINVAL,
		ibv_create_cq(mlx5, 1 << 30, NULL, NULL, 0));
	POINTER("ibv_create_cq", "no such vector", EINVAL,
		ibv_create_cq(mlx5, 1, NULL, NULL, 10000));
	POINTER("ibv_create_cq", "another context's channel", EINVAL,
		ibv_create_cq(mlx5, 1, NULL, channel, 0));
	POINTER("ibv_create_cq", "an unknown field", EOPNOTSUPP, ibv_create_cq_ex(mlx5, &ex));
	ex.wc_flags = 0, ex.comp_mask = 1u << 30;
	POINTER("ibv_create_cq", "an unknown comp_mask", EINVAL, ibv_create_cq_ex(mlx5, &ex));
	NUMBER("ibv_create_cq", "something unknown to change", EOPNOTSUPP,
	       ibv_modify_cq(cq5, &attr));
	NUMBER("ibv_create_cq", "a queue that is in use", EBUSY, ibv_destroy_cq(cq5));
	ibv_destroy_qp(qp);
	ibv_destroy_comp_channel(channel);
}

static void queue_pairs(void)
{
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC, .cap = { 1, 1, 1, 1, 0 } };
	struct ibv_qp *qp = make_qp(pd5, cq5, IBV_QPT_RC);
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS };

	POINTER("ibv_create_qp", "no completion queue", EINVAL, ibv_create_qp(pd5, &init));
	init.send_cq = init.recv_cq = cq5;
	init.cap.max_send_sge = 1000;
	POINTER("ibv_create_qp", "too many buffers", EINVAL, ibv_create_qp(pd5, &init));
	init.cap.max_send_sge = 1, init.qp_type = 77;
	POINTER("ibv_create_qp", "an unknown type", EINVAL, ibv_create_qp(pd5, &init));
	init.qp_type = IBV_QPT_RAW_PACKET, init.send_cq = init.recv_cq = cq4;
	POINTER("ibv_create_qp", "raw packets on InfiniBand", EOPNOTSUPP,
		ibv_create_qp(pd4, &init));
	init.qp_type = IBV_QPT_RC;
	POINTER("ibv_create_qp", "another context's queue", EINVAL, ibv_create_qp(pd5, &init));

	NUMBER("ibv_modify_qp", "no such step", EINVAL, ibv_modify_qp(qp, &attr, IBV_QP_STATE));
	attr.qp_state = IBV_QPS_INIT, attr.port_num = 1;
	NUMBER("ibv_modify_qp", "an attribute is missing", EINVAL,
	       ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PORT));
	NUMBER("ibv_modify_qp", "an unknown bit", EOPNOTSUPP,
	       ibv_modify_qp(qp, &attr, IBV_QP_STATE | 1 << 30));
	expect_success("INIT", ibv_modify_qp(qp, &attr,
					     IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
						     IBV_QP_ACCESS_FLAGS));
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = qp->qp_num,
		.ah_attr = { .is_global = 1, .port_num = 1, .grh.sgid_index = 254 }
	};
	ibv_query_gid(mlx5, 1, 0, &attr.ah_attr.grh.dgid);
	NUMBER("ibv_modify_qp", "an empty GID", ENODATA, ibv_modify_qp(qp, &attr, TO_RTR));
	/* Loopback, which this runs on, has no link-local address; the GID is made of the adapter's MAC address. */
	attr.ah_attr.grh.sgid_index = 1;
	NUMBER("ibv_modify_qp", "a GID of no address", EADDRNOTAVAIL,
	       ibv_modify_qp(qp, &attr, TO_RTR));
	ibv_destroy_qp(qp);
}

static void groups(void)
{
	struct ibv_qp *rc = make_qp(pd4, cq4, IBV_QPT_RC), *ud = make_qp(pd4, cq4, IBV_QPT_UD);
	union ibv_gid group, host;

	inet_pton(AF_INET6, "ff12::1234", &group);
	inet_pton(AF_INET6, "fe80::1", &host);
	NUMBER("ibv_attach_mcast", "no UD", EINVAL, ibv_attach_mcast(rc, &group, 0xc001));
	NUMBER("ibv_attach_mcast", "no group", EINVAL, ibv_attach_mcast(ud, &host, 0xc001));
	NUMBER("ibv_attach_mcast", "no LID of a group", EINVAL, ibv_attach_mcast(ud, &group, 1));
	NUMBER("ibv_attach_mcast", "not attached", EINVAL, ibv_detach_mcast(ud, &group, 0xc001));
	ibv_attach_mcast(ud, &group, 0xc001);
	NUMBER("ibv_create_qp", "attached to a group", EBUSY, ibv_destroy_qp(ud));
	ibv_detach_mcast(ud, &group, 0xc001);
	ibv_destroy_qp(ud);
	ibv_destroy_qp(rc);
}

static void receive_queues(void)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 1 << 30, .max_sge = 1 } };
	struct ibv_srq_attr attr = { .srq_limit = 1000 };
	struct ibv_srq *srq;
	uint32_t number;

	POINTER("ibv_create_srq", "too many receives", EINVAL, ibv_create_srq(pd5, &init));
	init.attr.max_wr = 4;
	srq = ibv_create_srq(pd5, &init);
	NUMBER("ibv_create_srq", "a limit beyond the size", EINVAL,
	       ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT));
	NUMBER("ibv_create_srq", "a new size", EINVAL, ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR));
	ibv_destroy_srq(srq);
	srq = ibv_create_srq(pd4, &init);
	NUMBER("ibv_create_srq", "a number on mlx4", EOPNOTSUPP, ibv_get_srq_num(srq, &number));
	ibv_destroy_srq(srq);
}

static void domains(void)
{
	struct ibv_xrcd_init_attr attr = { .comp_mask = IBV_XRCD_INIT_ATTR_FD };
	int fd = open(folder, O_RDONLY | O_CLOEXEC);

	POINTER("ibv_open_xrcd", "a bit is missing", EINVAL, ibv_open_xrcd(mlx5, &attr));
	attr.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS | 1 << 30;
	POINTER("ibv_open_xrcd", "an unknown bit", EOPNOTSUPP, ibv_open_xrcd(mlx5, &attr));
	attr.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
	attr.fd = 999, attr.oflags = O_CREAT;
	POINTER("ibv_open_xrcd", "no file", EBADF, ibv_open_xrcd(mlx5, &attr));
	attr.fd = fd, attr.oflags = 0;
	POINTER("ibv_open_xrcd", "not there", EAGAIN, ibv_open_xrcd(mlx5, &attr));
}

static void device_memory(void)
{
	struct ibv_alloc_dm_attr attr = { .length = 0 };
	struct ibv_dm *dm;

	POINTER("ibv_alloc_dm", "none on mlx4", EOPNOTSUPP, ibv_alloc_dm(mlx4, &attr));
	POINTER("ibv_alloc_dm", "length 0", EINVAL, ibv_alloc_dm(mlx5, &attr));
	attr.length = 64;
	dm = ibv_alloc_dm(mlx5, &attr);
	NUMBER("ibv_alloc_dm", "an odd offset", EINVAL, ibv_memcpy_to_dm(dm, 1, memory, 4));
	NUMBER("ibv_alloc_dm", "beyond the end", EFAULT, ibv_memcpy_to_dm(dm, 64, memory, 4));
	POINTER("ibv_alloc_dm", "not zero-based", EINVAL, ibv_reg_dm_mr(pd5, dm, 0, 64, 0));
	ibv_free_dm(dm);
}

static void tables_and_rules(void)
{
	struct ibv_wq_init_attr wq_attr = {
		.wq_type = IBV_WQT_RQ, .max_sge = 1, .pd = pd5, .cq = cq5
	};
	struct ibv_rwq_ind_table_init_attr attr = { .log_ind_tbl_size = 0 };
	struct ibv_counters_init_attr counters = { .comp_mask = 1 };
	struct ibv_wq *wq, *none = NULL;

	POINTER("ibv_create_wq", "0 receives", EINVAL, ibv_create_wq(mlx5, &wq_attr));
	wq_attr.max_wr = 1 << 30;
	POINTER("ibv_create_wq", "too many receives", EINVAL, ibv_create_wq(mlx5, &wq_attr));
	wq_attr.max_wr = 4;
	wq = ibv_create_wq(mlx5, &wq_attr);
	wq_attr.pd = pd4, wq_attr.cq = cq4;
	POINTER("ibv_create_wq", "on InfiniBand", EOPNOTSUPP, ibv_create_wq(mlx4, &wq_attr));
	POINTER("ibv_create_rwq_ind_table", "no array", EINVAL,
		ibv_create_rwq_ind_table(mlx5, &attr));
	attr.ind_tbl = &none;
	POINTER("ibv_create_rwq_ind_table", "an entry NULL", EINVAL,
		ibv_create_rwq_ind_table(mlx5, &attr));
	attr.ind_tbl = &wq, attr.log_ind_tbl_size = 31;
	POINTER("ibv_create_rwq_ind_table", "too large", EINVAL,
		ibv_create_rwq_ind_table(mlx5, &attr));
	attr.log_ind_tbl_size = 0;
	POINTER("ibv_create_rwq_ind_table", "on InfiniBand", EOPNOTSUPP,
		ibv_create_rwq_ind_table(mlx4, &attr));
	POINTER("ibv_create_rwq_ind_table", "another context's queue", EINVAL,
		ibv_create_rwq_ind_table(second, &attr));
	POINTER("ibv_create_counters", "a comp_mask", EOPNOTSUPP,
		ibv_create_counters(mlx5, &counters));
	counters.comp_mask = 0;
	POINTER("ibv_create_counters", "none on mlx4", EOPNOTSUPP,
		ibv_create_counters(mlx4, &counters));
	ibv_destroy_wq(wq);
}

static void rules(void)
{
	struct {
		struct ibv_flow_attr attr;
		struct ibv_flow_spec spec;
	} rule = { .attr = { .size = sizeof(rule),
			     .type = IBV_FLOW_ATTR_NORMAL,
			     .port = 1,
			     .flags = 1u << 30 } };
	struct ibv_flow_attr *flow = &rule.attr;
	struct ibv_qp *raw = make_qp(pd5, cq5, IBV_QPT_RAW_PACKET),
		      *rc = make_qp(pd5, cq5, IBV_QPT_RC);
	struct ibv_qp *ud = make_qp(pd5, cq5, IBV_QPT_UD);

	POINTER("ibv_create_flow", "an unknown flag", EINVAL, ibv_create_flow(raw, flow));
	flow->flags = 0;
	POINTER("ibv_create_flow", "RC", EINVAL, ibv_create_flow(rc, flow));
	POINTER("ibv_create_flow", "UD", EOPNOTSUPP, ibv_create_flow(ud, flow));
	flow->port = 9;
	POINTER("ibv_create_flow", "no such port", EINVAL, ibv_create_flow(raw, flow));
	flow->port = 1, flow->num_of_specs = 1;
	POINTER("ibv_create_flow", "a specification of size 0", EINVAL, ibv_create_flow(raw, flow));
	flow->num_of_specs = 0, flow->priority = 60000;
	POINTER("ibv_create_flow", "a priority beyond the last", ENOSPC,
		ibv_create_flow(raw, flow));
	ibv_destroy_qp(raw);
	ibv_destroy_qp(rc);
	ibv_destroy_qp(ud);
}

static void gids(void)
{
	struct ibv_gid_entry entry;
	union ibv_gid gid;

	MINUS1("ibv_query_gid", "no such port", EINVAL, ibv_query_gid(mlx5, 7, 0, &gid));
	MINUS1("ibv_query_gid", "beyond the table", EINVAL, ibv_query_gid(mlx5, 1, 255, &gid));
	NUMBER("ibv_query_gid", "an empty entry", ENODATA,
	       ibv_query_gid_ex(mlx5, 1, 254, &entry, 0));
	NUMBER("ibv_query_gid", "flags", EOPNOTSUPP, ibv_query_gid_ex(mlx5, 1, 0, &entry, 1));
	check("ibv_query_gid", "no room", EINVAL, -(int)ibv_query_gid_table(mlx5, &entry, 0, 0));
}

static void direct(void)
{
	struct mlx4dv_qp out = { 0 };
	struct mlx4dv_obj obj = { .qp = { .out = &out } };
	struct mlx4dv_cq cq = { 0 };
	uint32_t in[4] = { 0 }, reply[4] = { 0 }, eqn;

	NUMBER("mlx4dv_init_obj", "no object", EINVAL, mlx4dv_init_obj(&obj, MLX4DV_OBJ_QP));
	NUMBER("mlx4dv_init_obj", "an unknown bit", EINVAL, mlx4dv_init_obj(&obj, 1 << 20));
	obj.cq.in = cq5, obj.cq.out = &cq;
	NUMBER("mlx4dv_init_obj", "an object of mlx5", EINVAL,
	       mlx4dv_init_obj(&obj, MLX4DV_OBJ_CQ));
	POINTER("mlx5dv_devx_create_eq", "a short command", EINVAL,
		mlx5dv_devx_create_eq(mlx5, in, sizeof(in), reply, sizeof(reply)));
	POINTER("mlx5dv_devx_create_eq", "mlx4", EOPNOTSUPP,
		mlx5dv_devx_create_eq(mlx4, in, sizeof(in), reply, sizeof(reply)));
	NUMBER("mlx5dv_devx_create_eq", "no such vector", EINVAL,
	       mlx5dv_devx_query_eqn(mlx5, 10000, &eqn));
	NUMBER("mlx5dv_devx_create_eq", "nothing to destroy", EINVAL, mlx5dv_devx_destroy_eq(NULL));
}

static void connections(void)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct sockaddr_in6 link_local = { .sin6_family = AF_INET6 };
	struct sockaddr_in other = { .sin_family = AF_INET }, here = { .sin_family = AF_INET };
	struct rdma_cm_id *id, *taken;

	MINUS1("rdma_create_id", "an unknown port space", EINVAL,
	       rdma_create_id(channel, &id, NULL, 0x777));
	if (rdma_create_id(channel, &id, NULL, RDMA_PS_TCP) ||
	    rdma_create_id(channel, &taken, NULL, RDMA_PS_TCP)) {
		perror("rdma_create_id");
		exit(1);
	}
	inet_pton(AF_INET, "203.0.113.77", &other.sin_addr);
	MINUS1("rdma_bind_addr", "another host's address", EADDRNOTAVAIL,
	       rdma_bind_addr(id, (void *)&other));
	inet_pton(AF_INET6, "fe80::7", &link_local.sin6_addr);
	MINUS1("rdma_bind_addr", "link-local without a scope", EINVAL,
	       rdma_bind_addr(id, (void *)&link_local));
	here.sin_family = AF_UNIX;
	MINUS1("rdma_bind_addr", "another family", EINVAL, rdma_bind_addr(id, (void *)&here));
	here.sin_family = AF_INET, here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (rdma_bind_addr(taken, (void *)&here) || rdma_listen(taken, 1)) {
		perror("rdma_listen");
		exit(1);
	}
	here.sin_port = rdma_get_src_port(taken);
	MINUS1("rdma_bind_addr", "a port that is taken", EADDRINUSE,
	       rdma_bind_addr(id, (void *)&here));
	rdma_destroy_id(id);
	rdma_destroy_id(taken);
	rdma_destroy_event_channel(channel);
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: man-provoke FOLDER\n");
		return 2;
	}
	folder = argv[1];
	mlx5 = open_device("mlx5_0");
	mlx4 = open_device("mlx4_0");
	second = open_device("mlx5_0");
	pd5 = ibv_alloc_pd(mlx5);
	pd4 = ibv_alloc_pd(mlx4);
	cq5 = ibv_create_cq(mlx5, 16, NULL, NULL, 0);
	cq4 = ibv_create_cq(mlx4, 16, NULL, NULL, 0);
	address_handles();
	regions();
	windows();
	completion_queues();
	queue_pairs();
	groups();
	receive_queues();
	domains();
	device_memory();
	tables_and_rules();
	rules();
	gids();
	direct();
	connections();
	ibv_destroy_cq(cq5);
	ibv_destroy_cq(cq4);
	printf("%d errors provoked, %d not as their page says\n", checks, wrong);
	return !!wrong;
}
