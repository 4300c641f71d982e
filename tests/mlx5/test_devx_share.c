/* SPDX-License-Identifier: BSD-2-Clause */
/* DEVX objects and umems that contexts share, within a process and between two. */
#include "devx_rig.h"

#include <endian.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define BYTES 256 /* more than any export has */

static struct rig rig;

static int open_rig(void **state)
{
	rig_open(&rig);
	return 0;
}

static int close_rig(void **state)
{
	rig_close(&rig);
	return 0;
}

static struct ibv_context *import_context(void)
{
	struct ibv_context *ctx = ibv_import_device(dup(rig.ctx->cmd_fd));

	assert_non_null(ctx);
	return ctx;
}

static int query_cq(struct mlx5dv_devx_obj *obj, uint32_t cqn, uint8_t *log_size)
{
	uint8_t out[ifc_len(query_cq_out)] = { 0 };
	RIG_IN(in, ifc_len(query_cq_in), QUERY_CQ);
	int err;

	ifc_set(in, query_cq_in, cqn, cqn);
	err = mlx5dv_devx_obj_query(obj, in, sizeof(in), out, sizeof(out));
	*log_size = (uint8_t)ifc_get(ifc_ptr(out, query_cq_out, cq_context), cqc, log_cq_size);
	return err;
}

/* ---- one process ---- */

static void sizes_of_exports_are_told(void **state)
{
	struct mlx5dv_export_sizes sizes;
	struct rig_umem umem = rig_umem(&rig, 4096);
	uint8_t data[BYTES];

	mlx5dv_get_export_sizes(&sizes);
	assert_true(sizes.devx_umem_attrs_size && sizes.devx_umem_attrs_size < BYTES);
	assert_true(sizes.devx_obj_attrs_size && sizes.devx_obj_attrs_size < BYTES);
	memset(data, 0x5a, sizeof(data));
	assert_int_equal(mlx5dv_devx_umem_export(umem.umem, data), 0);
	assert_int_equal(data[sizes.devx_umem_attrs_size], 0x5a);
	rig_umem_drop(&umem);
}

static void an_imported_object_takes_commands(void **state)
{
	struct ibv_context *ctx = import_context();
	struct mlx5dv_devx_obj *same;
	uint8_t data[BYTES], log_size;
	struct rig_cq cq;

	rig_cq(&rig, 5, rig.eqn, &cq);
	assert_int_equal(mlx5dv_devx_obj_export(cq.obj, data), 0);
	same = mlx5dv_devx_obj_import(ctx, data);
	assert_non_null(same);
	assert_int_equal(query_cq(same, cq.cqn, &log_size), 0);
	assert_int_equal(log_size, 5);
	assert_int_equal(query_cq(same, cq.cqn + 1, &log_size), EINVAL);
	/* a handle is no more than that: its creator's object stays */
	mlx5dv_devx_obj_unimport(same);
	assert_int_equal(query_cq(cq.obj, cq.cqn, &log_size), 0);
	rig_cq_drop(&cq);
	assert_int_equal(ibv_close_device(ctx), 0);
}

static void an_object_that_its_creator_destroyed_is_gone_for_importers(void **state)
{
	struct ibv_context *ctx = import_context();
	struct mlx5dv_devx_obj *same;
	uint8_t data[BYTES], log_size;
	struct rig_cq cq;

	rig_cq(&rig, 5, rig.eqn, &cq);
	assert_int_equal(mlx5dv_devx_obj_export(cq.obj, data), 0);
	same = mlx5dv_devx_obj_import(ctx, data);
	rig_cq_drop(&cq);
	assert_int_equal(query_cq(same, cq.cqn, &log_size), ENOENT);
	assert_int_equal(mlx5dv_devx_obj_destroy(same), ENOENT);
	mlx5dv_devx_obj_unimport(same);
	errno = 0;
	assert_null(mlx5dv_devx_obj_import(ctx, data));
	assert_int_equal(errno, ENOENT);
	assert_int_equal(ibv_close_device(ctx), 0);
}

static void an_importer_may_destroy_the_object(void **state)
{
	struct ibv_context *ctx = import_context();
	struct mlx5dv_devx_obj *same;
	uint8_t data[BYTES], log_size;
	struct rig_cq cq;

	rig_cq(&rig, 5, rig.eqn, &cq);
	assert_int_equal(mlx5dv_devx_obj_export(cq.obj, data), 0);
	same = mlx5dv_devx_obj_import(ctx, data);
	assert_int_equal(mlx5dv_devx_obj_destroy(same), 0);
	assert_int_equal(query_cq(cq.obj, cq.cqn, &log_size), ENOENT);
	assert_int_equal(mlx5dv_devx_obj_destroy(cq.obj), ENOENT);
	assert_int_equal(mlx5dv_devx_obj_export(cq.obj, data), ENOENT);
	mlx5dv_devx_obj_unimport(cq.obj);
	rig_umem_drop(&cq.umem);
	assert_int_equal(ibv_close_device(ctx), 0);
}

static void data_that_is_no_export_of_the_context_is_refused(void **state)
{
	struct ibv_context *other = pair_open("mlx5_0"), *ctx = import_context();
	uint8_t data[BYTES], umem_data[BYTES], zeros[BYTES] = { 0 };
	struct rig_cq cq;

	rig_cq(&rig, 5, rig.eqn, &cq);
	assert_int_equal(mlx5dv_devx_obj_export(cq.obj, data), 0);
	assert_int_equal(mlx5dv_devx_umem_export(cq.umem.umem, umem_data), 0);
	errno = 0;
	assert_null(mlx5dv_devx_obj_import(other, data));
	assert_int_equal(errno, EINVAL);
	errno = 0;
	assert_null(mlx5dv_devx_obj_import(ctx, umem_data));
	assert_int_equal(errno, EINVAL);
	errno = 0;
	assert_null(mlx5dv_devx_umem_import(ctx, data));
	assert_int_equal(errno, EINVAL);
	errno = 0;
	assert_null(mlx5dv_devx_umem_import(ctx, zeros));
	assert_int_equal(errno, EINVAL);
	rig_cq_drop(&cq);
	assert_int_equal(ibv_close_device(ctx), 0);
	assert_int_equal(ibv_close_device(other), 0);
}

static void create_cq_in_umem(struct rig *r, struct mlx5dv_devx_umem *umem, uint32_t log_size,
			      struct rig_cq *cq)
{
	uint8_t out[ifc_len(create_cq_out)];
	RIG_IN(in, ifc_len(create_cq_in), CREATE_CQ);
	uint8_t *cqc = ifc_ptr(in, create_cq_in, cq_context);

	*cq = (struct rig_cq){ .rig = r, .size = 1u << log_size };
	ifc_set(cqc, cqc, log_cq_size, log_size);
	ifc_set(cqc, cqc, uar_page, r->uar->page_id);
	ifc_set(cqc, cqc, c_eqn, r->eqn);
	ifc_set(cqc, cqc, dbr_umem_valid, 1);
	ifc_set(cqc, cqc, dbr_umem_id, umem->umem_id);
	ifc_set(cqc, cqc, dbr_addr, (size_t)64 << log_size);
	ifc_set(in, create_cq_in, cq_umem_valid, 1);
	ifc_set(in, create_cq_in, cq_umem_id, umem->umem_id);
	cq->obj = mlx5dv_devx_obj_create(r->ctx, in, sizeof(in), out, sizeof(out));
	if (cq->obj)
		cq->cqn = ifc_get(out, create_cq_out, cqn);
}

/* One entry, from a queue pair that writes to itself. */
static void make_completion(struct rig *r, struct rig_cq *cq)
{
	struct rig_qp qp;

	rig_qp(r, 4, 4, 0, cq, &qp);
	rig_connect(&qp, &qp);
	rig_send(&qp, MLX5_OPCODE_RDMA_WRITE, 0, 64, 4096);
	/* Destroying the queue pair ends what has not been completed: wait for the data. */
	while (__atomic_load_n(&r->memory[4096], __ATOMIC_ACQUIRE) != 0x77)
		usleep(100);
	rig_modify(&qp, IFC_OP_2ERR_QP, 0, (uint8_t[0x10]){ 0 });
	rig_qp_drop(&qp);
}

static bool completion_came(const uint8_t *ring)
{
	return __atomic_load_n(&ring[63], __ATOMIC_ACQUIRE) >> 4 != MLX5_CQE_INVALID;
}

static void an_imported_umem_is_the_same_memory(void **state)
{
	struct rig_umem umem = rig_umem(&rig, 4096);
	struct mlx5dv_devx_umem *same;
	struct rig_cq cq;
	struct rig other;
	uint8_t data[BYTES];

	memset(umem.addr, MLX5_CQE_INVALID << 4, 16 * 64);
	rig_open_context(&other, import_context());
	other.memory[0] = 0x77;
	assert_int_equal(mlx5dv_devx_umem_export(umem.umem, data), 0);
	same = mlx5dv_devx_umem_import(other.ctx, data);
	assert_non_null(same);
	assert_int_equal(same->umem_id, umem.umem->umem_id);
	create_cq_in_umem(&other, same, 4, &cq);
	assert_non_null(cq.obj);
	assert_int_equal(mlx5dv_devx_umem_dereg(same), EBUSY);
	make_completion(&other, &cq);
	while (!completion_came(umem.addr))
		usleep(100);
	assert_int_equal(mlx5dv_devx_obj_destroy(cq.obj), 0);
	/* an importer may deregister it */
	assert_int_equal(mlx5dv_devx_umem_dereg(same), 0);
	assert_int_equal(mlx5dv_devx_umem_dereg(umem.umem), ENOENT);
	mlx5dv_devx_umem_unimport(umem.umem);
	munmap(umem.addr, umem.size);
	rig_close(&other);
}

static void a_umem_has_the_same_number_in_its_own_context(void **state)
{
	struct rig_umem umem = rig_umem(&rig, 4096);
	struct mlx5dv_devx_umem *same;
	uint8_t data[BYTES];
	struct rig_cq cq;

	assert_int_equal(mlx5dv_devx_umem_export(umem.umem, data), 0);
	same = mlx5dv_devx_umem_import(rig.ctx, data);
	assert_non_null(same);
	assert_int_equal(same->umem_id, umem.umem->umem_id);
	create_cq_in_umem(&rig, same, 4, &cq);
	assert_non_null(cq.obj);
	assert_int_equal(mlx5dv_devx_umem_dereg(same), EBUSY);
	mlx5dv_devx_umem_unimport(same);
	assert_int_equal(mlx5dv_devx_umem_dereg(umem.umem), EBUSY);
	assert_int_equal(mlx5dv_devx_obj_destroy(cq.obj), 0);
	rig_umem_drop(&umem);
}

/* ---- two processes ---- */

struct parcel {
	uint8_t cq[BYTES], umem[BYTES], qp[BYTES], key[BYTES];
	uint32_t cqn, var_page;
};

static void send_parcel(int sock, int fd, const struct parcel *p)
{
	char control[CMSG_SPACE(sizeof(fd))] = { 0 };
	struct iovec iov = { (void *)p, sizeof(*p) };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = control,
			      .msg_controllen = sizeof(control) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	assert_int_equal(sendmsg(sock, &msg, 0), sizeof(*p));
}

static int take_parcel(int sock, struct parcel *p)
{
	char control[CMSG_SPACE(sizeof(int))];
	struct iovec iov = { p, sizeof(*p) };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = control,
			      .msg_controllen = sizeof(control) };
	int fd = -1;

	if (recvmsg(sock, &msg, 0) != sizeof(*p) || !CMSG_FIRSTHDR(&msg))
		return -1;
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(fd));
	return fd;
}

/* In the child a failure ends the process; the parent sees the line. */
#define MUST(condition)                                                                            \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);            \
			_exit(1);                                                                  \
		}                                                                                  \
	} while (0)

static _Noreturn void be_importer(int sock, bool destroy)
{
	struct mlx5dv_devx_umem *umem;
	struct mlx5dv_devx_obj *obj;
	uint8_t log_size = 0;
	struct parcel p;
	struct rig_cq cq;
	struct rig mine;
	int fd = take_parcel(sock, &p);
	struct ibv_context *ctx = fd < 0 ? NULL : ibv_import_device(fd);

	MUST(ctx);
	rig_open_context(&mine, ctx);
	mine.memory[0] = 0x77;
	obj = mlx5dv_devx_obj_import(ctx, p.cq);
	MUST(obj);
	MUST(!query_cq(obj, p.cqn, &log_size) && log_size == 5);
	MUST(query_cq(obj, p.cqn + 1, &log_size) == EINVAL);
	umem = mlx5dv_devx_umem_import(ctx, p.umem);
	MUST(umem);
	create_cq_in_umem(&mine, umem, 4, &cq);
	MUST(cq.obj);
	make_completion(&mine, &cq);
	MUST(!mlx5dv_devx_obj_destroy(cq.obj));
	if (destroy) {
		MUST(!mlx5dv_devx_obj_destroy(obj));
		MUST(!mlx5dv_devx_umem_dereg(umem));
	} else {
		mlx5dv_devx_obj_unimport(obj);
		mlx5dv_devx_umem_unimport(umem);
	}
	rig_close(&mine);
	exit(0);
}

static void share_with_child(bool destroy)
{
	struct parcel p = { 0 };
	struct rig_umem umem;
	uint8_t log_size;
	struct rig_cq cq;
	struct rig mine;
	int sock[2], status;
	pid_t child;

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sock), 0);
	child = fork();
	if (!child) {
		close(sock[0]);
		be_importer(sock[1], destroy);
	}
	close(sock[1]);
	rig_open(&mine);
	umem = rig_umem(&mine, 4096);
	memset(umem.addr, MLX5_CQE_INVALID << 4, 16 * 64);
	rig_cq(&mine, 5, mine.eqn, &cq);
	p.cqn = cq.cqn;
	assert_int_equal(mlx5dv_devx_obj_export(cq.obj, p.cq), 0);
	assert_int_equal(mlx5dv_devx_umem_export(umem.umem, p.umem), 0);
	send_parcel(sock[0], mine.ctx->cmd_fd, &p);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status) && !WEXITSTATUS(status));
	assert_true(completion_came(umem.addr));
	close(sock[0]);
	if (destroy) {
		assert_int_equal(query_cq(cq.obj, cq.cqn, &log_size), ENOENT);
		mlx5dv_devx_obj_unimport(cq.obj);
		rig_umem_drop(&cq.umem);
		assert_int_equal(mlx5dv_devx_umem_dereg(umem.umem), ENOENT);
		mlx5dv_devx_umem_unimport(umem.umem);
		munmap(umem.addr, umem.size);
	} else {
		assert_int_equal(query_cq(cq.obj, cq.cqn, &log_size), 0);
		rig_cq_drop(&cq);
		rig_umem_drop(&umem);
	}
	rig_close(&mine);
}

/* Objects whose end the whole host has to see: a queue pair that is connected, and a memory key. */
static _Noreturn void be_owner(int sock)
{
	RIG_IN(in, ifc_len(create_mkey_in), CREATE_MKEY);
	uint8_t *mkc = ifc_ptr(in, create_mkey_in, memory_key_mkey_entry), out[0x10];
	struct mlx5dv_devx_obj *key;
	struct mlx5dv_var *var;
	struct parcel p = { 0 };
	struct rig_umem umem;
	struct rig_cq cq;
	struct rig_qp qp;
	struct rig mine;

	prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that fails leaves no process behind */
	rig_open(&mine);
	umem = rig_umem(&mine, 4096);
	rig_cq(&mine, 5, mine.eqn, &cq);
	rig_qp(&mine, 4, 4, 0, &cq, &qp);
	rig_connect(&qp, &qp);
	ifc_set(mkc, mkc, access_mode_1_0, IFC_MKC_MTT);
	ifc_set(mkc, mkc, lr, 1);
	ifc_set(mkc, mkc, pd, mine.pdn);
	ifc_set(mkc, mkc, qpn, 0xffffff);
	ifc_set(mkc, mkc, len, 4096);
	ifc_set(in, create_mkey_in, mkey_umem_valid, 1);
	ifc_set(in, create_mkey_in, mkey_umem_id, umem.umem->umem_id);
	key = mlx5dv_devx_obj_create(mine.ctx, in, sizeof(in), out, sizeof(out));
	MUST(key);
	var = mlx5dv_alloc_var(mine.ctx, 0);
	MUST(var);
	p.var_page = var->page_id;
	p.cqn = cq.cqn;
	MUST(!mlx5dv_devx_obj_export(cq.obj, p.cq) && !mlx5dv_devx_obj_export(qp.obj, p.qp));
	MUST(!mlx5dv_devx_obj_export(key, p.key) && !mlx5dv_devx_umem_export(umem.umem, p.umem));
	send_parcel(sock, mine.ctx->cmd_fd, &p);
	for (;;)
		pause();
}

static void what_a_killed_process_exported_is_gone_and_its_memory_stays(void **state)
{
	struct mlx5dv_devx_obj *obj, *qp, *key;
	struct mlx5dv_devx_umem *umem;
	struct ibv_context *ctx;
	struct mlx5dv_var *var;
	uint8_t log_size;
	struct parcel p;
	struct rig_cq cq;
	struct rig mine;
	int sock[2], fd;
	pid_t owner;

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sock), 0);
	owner = fork();
	if (!owner)
		be_owner(sock[1]);
	close(sock[1]);
	fd = take_parcel(sock[0], &p);
	assert_true(fd >= 0);
	ctx = ibv_import_device(fd);
	assert_non_null(ctx);
	rig_open_context(&mine, ctx);
	mine.memory[0] = 0x77;
	obj = mlx5dv_devx_obj_import(ctx, p.cq);
	qp = mlx5dv_devx_obj_import(ctx, p.qp);
	key = mlx5dv_devx_obj_import(ctx, p.key);
	umem = mlx5dv_devx_umem_import(ctx, p.umem);
	assert_true(obj && qp && key && umem);
	/* Doorbell areas of both are in the one file of the context. */
	var = mlx5dv_alloc_var(ctx, 0);
	assert_non_null(var);
	assert_int_not_equal(var->page_id, p.var_page);
	mlx5dv_free_var(var);
	assert_int_equal(mlx5dv_devx_obj_destroy(obj), EBUSY);
	assert_int_equal(mlx5dv_devx_obj_destroy(qp), 0);
	assert_int_equal(mlx5dv_devx_obj_destroy(key), 0);
	assert_int_equal(query_cq(obj, p.cqn, &log_size), 0);

	assert_int_equal(kill(owner, SIGKILL), 0);
	assert_int_equal(waitpid(owner, NULL, 0), owner);
	close(sock[0]);
	assert_int_equal(query_cq(obj, p.cqn, &log_size), EIO);
	assert_int_equal(mlx5dv_devx_obj_destroy(obj), EIO);
	errno = 0;
	assert_null(mlx5dv_devx_obj_import(ctx, p.cq));
	assert_int_equal(errno, EIO);
	mlx5dv_devx_obj_unimport(obj);
	create_cq_in_umem(&mine, umem, 4, &cq);
	assert_non_null(cq.obj);
	make_completion(&mine, &cq);
	assert_int_equal(mlx5dv_devx_obj_destroy(cq.obj), 0);
	mlx5dv_devx_umem_unimport(umem);
	rig_close(&mine);
}

static void another_process_uses_object_and_umem(void **state)
{
	share_with_child(false);
}

static void another_process_destroys_object_and_umem(void **state)
{
	share_with_child(true);
}

/* The owner carries out a call that its caller has given up, and writes to no memory but the call's. */
static void a_call_that_was_given_up_leaves_memory_alone(void **state)
{
	struct ibv_alloc_dm_attr attr = { .length = 4096 };
	static uint8_t pattern[4096], now[4096];
	struct mlx5dv_devx_obj *obj;
	struct ibv_context *ctx;
	int sock[2], fd, status;
	struct ibv_dm *dm[8];
	uint8_t log_size;
	struct parcel p;
	pid_t owner;

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sock), 0);
	owner = fork();
	if (!owner)
		be_owner(sock[1]);
	close(sock[1]);
	fd = take_parcel(sock[0], &p);
	ctx = fd < 0 ? NULL : ibv_import_device(fd);
	assert_non_null(ctx);
	obj = mlx5dv_devx_obj_import(ctx, p.cq);
	assert_non_null(obj);
	assert_int_equal(query_cq(obj, p.cqn, &log_size), 0);
	assert_int_equal(kill(owner, SIGSTOP), 0);
	assert_int_equal(waitpid(owner, &status, WUNTRACED), owner);
	assert_int_equal(query_cq(obj, p.cqn, &log_size), ETIMEDOUT);
	memset(pattern, 0xa5, sizeof(pattern));
	for (int i = 0; i < 8; i++) {
		dm[i] = ibv_alloc_dm(ctx, &attr);
		assert_non_null(dm[i]);
		assert_int_equal(ibv_memcpy_to_dm(dm[i], 0, pattern, sizeof(pattern)), 0);
	}
	assert_int_equal(kill(owner, SIGCONT), 0);
	/* Calls are carried out in their order. */
	assert_int_equal(query_cq(obj, p.cqn, &log_size), 0);
	for (int i = 0; i < 8; i++) {
		assert_int_equal(ibv_memcpy_from_dm(now, dm[i], 0, sizeof(now)), 0);
		assert_memory_equal(now, pattern, sizeof(now));
		assert_int_equal(ibv_free_dm(dm[i]), 0);
	}
	mlx5dv_devx_obj_unimport(obj);
	assert_int_equal(ibv_close_device(ctx), 0);
	kill(owner, SIGKILL);
	waitpid(owner, NULL, 0);
	close(sock[0]);
}

#define T(name) cmocka_unit_test_setup_teardown(name, open_rig, close_rig)

int main(int argc, char **argv)
{
	/* Takes as long as a call waits for its answer. */
	const struct CMUnitTest slow[] = {
		cmocka_unit_test(a_call_that_was_given_up_leaves_memory_alone),
	};
	const struct CMUnitTest tests[] = {
		/* before this process has opened a device */
		cmocka_unit_test(another_process_uses_object_and_umem),
		cmocka_unit_test(another_process_destroys_object_and_umem),
		cmocka_unit_test(what_a_killed_process_exported_is_gone_and_its_memory_stays),
		T(sizes_of_exports_are_told),
		T(an_imported_object_takes_commands),
		T(an_object_that_its_creator_destroyed_is_gone_for_importers),
		T(an_importer_may_destroy_the_object),
		T(data_that_is_no_export_of_the_context_is_refused),
		T(an_imported_umem_is_the_same_memory),
		T(a_umem_has_the_same_number_in_its_own_context),
	};

	if (argc > 1 && !strcmp(argv[1], "stopped"))
		return cmocka_run_group_tests(slow, NULL, NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
