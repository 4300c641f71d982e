/* SPDX-License-Identifier: BSD-2-Clause */
/* Device commands: what they answer, and how they refuse. */
#include <errno.h>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "devx_rig.h"

static struct rig rig;

static int setup(void **state)
{
	rig_open(&rig);
	return 0;
}

static int teardown(void **state)
{
	rig_close(&rig);
	return 0;
}

static int general(const void *in, size_t inlen, void *out, size_t outlen)
{
	return mlx5dv_devx_general_cmd(rig.ctx, in, inlen, out, outlen);
}

/* The command is refused by the device, with this status and some syndrome. */
static void refused(const void *in, size_t inlen, uint8_t status)
{
	uint8_t out[0x20];

	memset(out, 0xff, sizeof(out));
	errno = 0;
	assert_null(mlx5dv_devx_obj_create(rig.ctx, in, inlen, out, sizeof(out)));
	assert_int_equal(errno, EREMOTEIO);
	assert_int_equal(ifc_get(out, cmd_out, status), status);
	assert_int_not_equal(ifc_get(out, cmd_out, syndrome), 0);
}

static struct mlx5dv_devx_obj *create(const void *in, size_t inlen, uint32_t *number)
{
	uint8_t out[0x20] = { 0 };
	struct mlx5dv_devx_obj *obj = mlx5dv_devx_obj_create(rig.ctx, in, inlen, out, sizeof(out));

	assert_non_null(obj);
	*number = ifc_get(out, obj_out, number);
	return obj;
}

static struct mlx5dv_devx_obj *create_plain(uint16_t op, uint32_t *number)
{
	uint8_t in[0x10] = { 0 };

	ifc_set(in, cmd_in, opcode, op);
	return create(in, sizeof(in), number);
}

/* ---- mailboxes ---- */

static void a_short_mailbox_is_einval_and_stays_untouched(void **state)
{
	uint8_t out[ifc_len(query_hca_cap_out)], same[sizeof(out)];
	RIG_IN(in, ifc_len(query_hca_cap_in), QUERY_HCA_CAP);

	memset(out, 0x5a, sizeof(out));
	memset(same, 0x5a, sizeof(same));
	assert_int_equal(general(in, sizeof(in) - 1, out, sizeof(out)), EINVAL);
	assert_int_equal(general(in, 0, out, sizeof(out)), EINVAL);
	assert_int_equal(general(in, sizeof(in), out, 0x0f), EINVAL);
	assert_int_equal(general(in, sizeof(in), out, 0x100), EINVAL);
	assert_memory_equal(out, same, sizeof(out));
	assert_int_equal(general(in, sizeof(in), out, sizeof(out)), 0);
}

static void an_unknown_opcode_gets_its_status(void **state)
{
	uint8_t in[0x40] = { 0 }, out[0x40];

	for (uint32_t op = 0xffff; op > 0xff00; op -= 7) {
		memset(out, 0, sizeof(out));
		ifc_set(in, cmd_in, opcode, op);
		assert_int_equal(general(in, sizeof(in), out, sizeof(out)), EREMOTEIO);
		assert_int_equal(ifc_get(out, cmd_out, status), IFC_STATUS_BAD_OP);
		assert_int_not_equal(ifc_get(out, cmd_out, syndrome), 0);
		refused(in, sizeof(in), IFC_STATUS_BAD_OP);
	}
}

static void a_command_goes_through_its_own_call(void **state)
{
	uint8_t out[0x110];
	RIG_IN(make, 0x110, CREATE_CQ);
	RIG_IN(nop, 0x10, NOP);
	RIG_IN(query, 0x10, QUERY_CQ);

	assert_int_equal(general(nop, sizeof(nop), out, 0x10), 0);
	assert_int_equal(general(make, sizeof(make), out, sizeof(out)), EINVAL);
	assert_int_equal(general(query, sizeof(query), out, sizeof(out)), EINVAL);
	errno = 0;
	assert_null(mlx5dv_devx_obj_create(rig.ctx, nop, sizeof(nop), out, sizeof(out)));
	assert_int_equal(errno, EINVAL);
}

/* ---- the device ---- */

static void capabilities_are_those_of_the_adapter(void **state)
{
	uint8_t current[ifc_len(query_hca_cap_out)], most[sizeof(current)];
	uint8_t *cap = ifc_ptr(current, query_hca_cap_out, capability);
	RIG_IN(in, ifc_len(query_hca_cap_in), QUERY_HCA_CAP);
	struct ibv_device_attr attr;

	assert_int_equal(ibv_query_device(rig.ctx, &attr), 0);
	ifc_set(in, cmd_in, op_mod, IFC_CAP_OP_MOD(IFC_CAP_GENERAL, true));
	assert_int_equal(general(in, sizeof(in), current, sizeof(current)), 0);
	ifc_set(in, cmd_in, op_mod, IFC_CAP_OP_MOD(IFC_CAP_GENERAL, false));
	assert_int_equal(general(in, sizeof(in), most, sizeof(most)), 0);
	assert_memory_equal(current, most, sizeof(most));
	assert_int_equal(ifc_get(cap, cmd_hca_cap, port_type), IFC_PORT_TYPE_ETH);
	assert_int_equal(ifc_get(cap, cmd_hca_cap, num_ports), attr.phys_port_cnt);
	assert_int_equal(1u << ifc_get(cap, cmd_hca_cap, log_max_qp), attr.max_qp);
	assert_int_equal((1u << ifc_get(cap, cmd_hca_cap, log_max_cq_sz)) - 1, attr.max_cqe);
	assert_int_equal(ifc_get(cap, cmd_hca_cap, rc), 1);
	assert_int_equal(ifc_get(cap, cmd_hca_cap, roce), 1);
	ifc_set(in, cmd_in, op_mod, IFC_CAP_OP_MOD(IFC_CAP_ATOMIC, true));
	assert_int_equal(general(in, sizeof(in), current, sizeof(current)), 0);
	assert_int_equal(ifc_get(cap, atomic_caps, atomic_operations), 0xf); /* masked ones too */
	assert_int_equal(ifc_get(cap, atomic_caps, atomic_size_qp), 4 | 8);
	assert_int_equal(ifc_get(cap, atomic_caps, atomic_size_dc), 4 | 8);
	ifc_set(in, cmd_in, op_mod, IFC_CAP_OP_MOD(IFC_CAP_ROCE, true));
	assert_int_equal(general(in, sizeof(in), current, sizeof(current)), 0);
	assert_int_equal(ifc_get(cap, roce_cap, r_roce_dest_udp_port), 4791);
	ifc_set(in, cmd_in, op_mod, IFC_CAP_OP_MOD(0x70, true));
	assert_int_equal(general(in, sizeof(in), current, sizeof(current)), EREMOTEIO);
	assert_int_equal(ifc_get(current, cmd_out, status), IFC_STATUS_BAD_PARAM);
}

static void ports_that_are_not_bonded_say_so(void **state)
{
	uint8_t out[ifc_len(query_lag_out)];
	RIG_IN(in, 0x10, QUERY_LAG);

	memset(out, 0x5a, sizeof(out));
	assert_int_equal(general(in, sizeof(in), out, sizeof(out)), 0);
	assert_int_equal(ifc_get(ifc_ptr(out, query_lag_out, lag_context), lag_context, lag_state),
			 0);
}

static void addresses_are_those_of_the_gid_table(void **state)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	uint8_t out[ifc_len(query_roce_address_out)];
	uint8_t *addr = ifc_ptr(out, query_roce_address_out, roce_address);
	uint8_t *l3 = ifc_ptr(addr, roce_addr_layout, source_l3_address);
	RIG_IN(in, ifc_len(query_roce_address_in), QUERY_ROCE_ADDRESS);
	struct ibv_gid_entry entry;

	for (uint32_t i = 0; i < 8; i++) {
		ifc_set(in, query_roce_address_in, roce_address_index, i);
		assert_int_equal(general(in, sizeof(in), out, sizeof(out)), 0);
		if (ibv_query_gid_ex(rig.ctx, 1, i, &entry, 0))
			continue;
		assert_int_equal(ifc_get(addr, roce_addr_layout, roce_version),
				 entry.gid_type == IBV_GID_TYPE_ROCE_V2 ? IFC_ROCE_V2
									: IFC_ROCE_V1);
		if (ifc_get(addr, roce_addr_layout, roce_l3_type) == IFC_ROCE_L3_IPV4 &&
		    entry.gid_type == IBV_GID_TYPE_ROCE_V2) {
			assert_memory_equal(entry.gid.raw, mapped, sizeof(mapped));
			assert_memory_equal(l3 + 12, entry.gid.raw + 12, 4);
		} else {
			assert_memory_equal(l3, entry.gid.raw, 16);
		}
	}
	ifc_set(in, query_roce_address_in, roce_address_index, 0xffff);
	assert_int_equal(general(in, sizeof(in), out, sizeof(out)), EREMOTEIO);
	assert_int_equal(ifc_get(out, cmd_out, status), IFC_STATUS_BAD_INDEX);
}

static void ports_are_told_of(void **state)
{
	uint8_t out[ifc_len(query_nic_vport_context_out)];
	uint8_t *ctx = ifc_ptr(out, query_nic_vport_context_out, nic_vport_context);
	RIG_IN(nic, ifc_len(query_nic_vport_context_in), QUERY_NIC_VPORT_CONTEXT);
	RIG_IN(link, ifc_len(query_vport_state_in), QUERY_VPORT_STATE);
	RIG_IN(id, 0x10, QUERY_ADAPTER);
	struct ibv_device_attr attr;

	assert_int_equal(ibv_query_device(rig.ctx, &attr), 0);
	assert_int_equal(general(nic, sizeof(nic), out, sizeof(out)), 0);
	assert_true(ifc_get(ctx, nic_vport_context, node_guid) == be64toh(attr.node_guid));
	assert_int_equal(general(link, sizeof(link), out, 0x10), 0);
	assert_int_equal(ifc_get(out, query_vport_state_out, admin_state), IFC_VPORT_UP);
	assert_int_equal(general(id, sizeof(id), out, sizeof(out)), 0);
	assert_int_equal(ifc_get(out, query_adapter_out, ieee_vendor_id), attr.vendor_id);
	ifc_set(nic, query_nic_vport_context_in, other_vport, 1);
	ifc_set(nic, query_nic_vport_context_in, vport_number, 3);
	assert_int_equal(general(nic, sizeof(nic), out, sizeof(out)), EREMOTEIO);
}

static void registers_can_be_read(void **state)
{
	uint8_t in[0x30] = { 0 }, out[0x30];
	uint8_t *data = out + 0x10;

	ifc_set(in, cmd_in, opcode, IFC_OP_ACCESS_REG);
	ifc_set(in, cmd_in, op_mod, IFC_REG_READ);
	ifc_set(in, access_register_in, register_id, 0x5006);
	in[0x11] = 1;
	assert_int_equal(general(in, sizeof(in), out, sizeof(out)), 0);
	assert_int_equal(data[1], 1);
	assert_int_equal(data[2] & 0xf, 1);
	ifc_set(in, access_register_in, register_id, 0xeeee);
	assert_int_equal(general(in, sizeof(in), out, sizeof(out)), EREMOTEIO);
	assert_int_equal(ifc_get(out, cmd_out, status), IFC_STATUS_BAD_PARAM);
}

/* ---- memory ---- */

static void umems_are_checked(void **state)
{
	struct mlx5dv_devx_umem_in in = { .addr = rig.memory,
					  .size = 8192,
					  .access = IBV_ACCESS_LOCAL_WRITE };
	struct mlx5dv_devx_umem *umem;
	void *gone = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	munmap(gone, 8192);
	errno = 0;
	assert_null(mlx5dv_devx_umem_reg(rig.ctx, gone, 8192, IBV_ACCESS_LOCAL_WRITE));
	assert_int_equal(errno, EFAULT);
	assert_null(mlx5dv_devx_umem_reg(rig.ctx, rig.memory, 0, 0));
	assert_int_equal(errno, EINVAL);
	assert_null(mlx5dv_devx_umem_reg(rig.ctx, rig.memory, 64, 1 << 15));
	assert_int_equal(errno, EINVAL);
	assert_null(mlx5dv_devx_umem_reg_ex(rig.ctx, &in));
	assert_int_equal(errno, EINVAL);
	in.pgsz_bitmap = 4096;
	umem = mlx5dv_devx_umem_reg_ex(rig.ctx, &in);
	assert_non_null(umem);
	assert_int_not_equal(umem->umem_id, 0);
	assert_int_equal(mlx5dv_devx_umem_dereg(umem), 0);
	in.pgsz_bitmap = 1ull << 30; /* longer than the memory by far */
	assert_null(mlx5dv_devx_umem_reg_ex(rig.ctx, &in));
	assert_int_equal(errno, EINVAL);
	in.pgsz_bitmap = 4096;
	in.access = IBV_ACCESS_REMOTE_WRITE;
	assert_null(mlx5dv_devx_umem_reg_ex(rig.ctx, &in));
	assert_int_equal(errno, EINVAL);
	in.access = IBV_ACCESS_LOCAL_WRITE;
	in.comp_mask = 1ull << 40;
	assert_null(mlx5dv_devx_umem_reg_ex(rig.ctx, &in));
	assert_int_equal(errno, EOPNOTSUPP);
}

static struct mlx5dv_devx_umem *reg_dmabuf(int fd, size_t size)
{
	struct mlx5dv_devx_umem_in in = { .addr = (void *)4096, /* in the dmabuf */
					  .size = size,
					  .pgsz_bitmap = 4096,
					  .comp_mask = MLX5DV_UMEM_MASK_DMABUF,
					  .dmabuf_fd = fd };

	errno = 0;
	return mlx5dv_devx_umem_reg_ex(rig.ctx, &in);
}

/* A memory file that cannot shrink is as good as a dmabuf. */
static void a_ring_may_be_in_a_dmabuf(void **state)
{
	int fd = memfd_create("dmabuf", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	RIG_IN(in, ifc_len(create_cq_in), CREATE_CQ);
	uint8_t *cqc = ifc_ptr(in, create_cq_in, cq_context);
	struct rig_cq cq = { .rig = &rig, .size = 16 };
	struct rig_qp qp;

	assert_int_equal(ftruncate(fd, 8192), 0);
	assert_null(reg_dmabuf(fd, 4096));
	assert_int_equal(errno, EOPNOTSUPP);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
	assert_null(reg_dmabuf(fd, 4097));
	assert_int_equal(errno, EINVAL);
	assert_null(reg_dmabuf(-1, 4096));
	assert_int_equal(errno, EBADF);
	cq.umem.umem = reg_dmabuf(fd, 4096);
	assert_non_null(cq.umem.umem);
	cq.umem.size = 4096;
	cq.umem.addr = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 4096);
	close(fd);
	assert_ptr_not_equal(cq.umem.addr, MAP_FAILED);
	memset(cq.umem.addr, MLX5_CQE_INVALID << 4, 16 * 64);
	cq.db = (void *)(cq.umem.addr + 1024);
	ifc_set(cqc, cqc, log_cq_size, 4);
	ifc_set(cqc, cqc, uar_page, rig.uar->page_id);
	ifc_set(cqc, cqc, c_eqn, rig.eqn);
	ifc_set(cqc, cqc, dbr_umem_valid, 1);
	ifc_set(cqc, cqc, dbr_umem_id, cq.umem.umem->umem_id);
	ifc_set(cqc, cqc, dbr_addr, 1024);
	ifc_set(in, create_cq_in, cq_umem_valid, 1);
	ifc_set(in, create_cq_in, cq_umem_id, cq.umem.umem->umem_id);
	cq.obj = create(in, sizeof(in), &cq.cqn);
	rig_qp(&rig, 4, 4, 0, &cq, &qp);
	rig_connect(&qp, &qp);
	rig_send(&qp, MLX5_OPCODE_RDMA_WRITE, 0, 64, 4096);
	assert_int_equal(rig_cq_wait(&cq)->op_own >> 4, MLX5_CQE_REQ);
	rig_cq_take(&cq);
	rig_qp_drop(&qp);
	rig_cq_drop(&cq);
}

static void a_memory_key_is_as_good_as_a_region(void **state)
{
	RIG_IN(in, ifc_len(create_mkey_in), CREATE_MKEY);
	uint8_t *mkc = ifc_ptr(in, create_mkey_in, memory_key_mkey_entry);
	struct rig_umem u = rig_umem(&rig, 8192);
	struct mlx5dv_devx_obj *key;
	struct rig_cq cq;
	struct rig_qp qp;
	uint32_t index, lkey;

	ifc_set(mkc, mkc, access_mode_1_0, IFC_MKC_MTT);
	ifc_set(mkc, mkc, lr, 1);
	ifc_set(mkc, mkc, lw, 1);
	ifc_set(mkc, mkc, pd, rig.pdn);
	ifc_set(mkc, mkc, qpn, 0xffffff);
	ifc_set(mkc, mkc, mkey_7_0, 0x42);
	ifc_set(mkc, mkc, start_addr, 0x10000);
	ifc_set(mkc, mkc, len, 4096);
	ifc_set(in, create_mkey_in, mkey_umem_valid, 1);
	ifc_set(in, create_mkey_in, mkey_umem_id, u.umem->umem_id);
	ifc_set(in, create_mkey_in, mkey_umem_offset, 4096);
	key = create(in, sizeof(in), &index);
	lkey = index << 8 | 0x42;
	rig_cq(&rig, 4, rig.eqn, &cq);
	rig_qp(&rig, 4, 4, 0, &cq, &qp);
	rig_connect(&qp, &qp);
	pair_pattern(u.addr + 4096, 100, 9);
	rig_send(&qp, MLX5_OPCODE_RDMA_WRITE, 0, 100, 512);
	assert_int_equal(rig_cq_wait(&cq)->op_own >> 4, MLX5_CQE_REQ);
	rig_cq_take(&cq);
	/* By hand, as the rig knows only its own region. */
	mlx5dv_set_ctrl_seg((void *)(qp.sq + 64), 1, MLX5_OPCODE_RDMA_WRITE, 0, qp.qpn,
			    MLX5_WQE_CTRL_CQ_UPDATE, 3, 0, 0);
	memcpy(qp.sq + 64 + 16, qp.sq + 16, 16);
	mlx5dv_set_data_seg((void *)(qp.sq + 64 + 32), 100, lkey, 0x10000);
	qp.post = 2;
	rig_ring(&qp);
	assert_int_equal(rig_cq_wait(&cq)->op_own >> 4, MLX5_CQE_REQ);
	assert_true(pair_is_pattern(rig.memory + 512, 100, 9));
	rig_qp_drop(&qp);
	rig_cq_drop(&cq);
	assert_int_equal(mlx5dv_devx_umem_dereg(u.umem), EBUSY);
	assert_int_equal(mlx5dv_devx_obj_destroy(key), 0);
	rig_umem_drop(&u);
}

/* ---- refusals of creation ---- */

static void completion_queues_are_checked(void **state)
{
	RIG_IN(in, ifc_len(create_cq_in), CREATE_CQ);
	uint8_t *cqc = ifc_ptr(in, create_cq_in, cq_context);
	struct rig_umem u = rig_umem(&rig, 4096);

	ifc_set(cqc, cqc, log_cq_size, 5);
	ifc_set(cqc, cqc, uar_page, rig.uar->page_id);
	ifc_set(cqc, cqc, c_eqn, rig.eqn);
	refused(in, sizeof(in), IFC_STATUS_BAD_PARAM); /* no umem */
	ifc_set(in, create_cq_in, cq_umem_valid, 1);
	ifc_set(in, create_cq_in, cq_umem_id, 0xabcdef);
	refused(in, sizeof(in), IFC_STATUS_BAD_RES);
	ifc_set(in, create_cq_in, cq_umem_id, u.umem->umem_id);
	refused(in, sizeof(in), IFC_STATUS_BAD_PARAM); /* no record */
	ifc_set(cqc, cqc, dbr_umem_valid, 1);
	ifc_set(cqc, cqc, dbr_umem_id, u.umem->umem_id);
	ifc_set(cqc, cqc, dbr_addr, 4092);
	refused(in, sizeof(in), IFC_STATUS_BAD_PARAM);
	ifc_set(cqc, cqc, dbr_addr, 2048);
	ifc_set(in, create_cq_in, cq_umem_offset, 4096 - 64);
	refused(in, sizeof(in), IFC_STATUS_BAD_PARAM);
	ifc_set(in, create_cq_in, cq_umem_offset, ~0ull);
	refused(in, sizeof(in), IFC_STATUS_BAD_PARAM);
	ifc_set(in, create_cq_in, cq_umem_offset, 8);
	refused(in, sizeof(in), IFC_STATUS_BAD_PARAM); /* unaligned */
	ifc_set(in, create_cq_in, cq_umem_offset, 0);
	ifc_set(cqc, cqc, c_eqn, 0xee);
	refused(in, sizeof(in), IFC_STATUS_BAD_RES);
	ifc_set(cqc, cqc, c_eqn, rig.eqn);
	ifc_set(cqc, cqc, uar_page, 0);
	refused(in, sizeof(in), IFC_STATUS_BAD_RES);
	ifc_set(cqc, cqc, uar_page, rig.uar->page_id);
	ifc_set(cqc, cqc, cqe_sz, 5);
	refused(in, sizeof(in), IFC_STATUS_BAD_PARAM);
	ifc_set(cqc, cqc, cqe_sz, 0);
	ifc_set(cqc, cqc, log_cq_size, 31);
	refused(in, sizeof(in), IFC_STATUS_BAD_PARAM);
	/* Nothing of all that holds on to the memory. */
	rig_umem_drop(&u);
}

static void queue_pairs_are_checked(void **state)
{
	RIG_IN(in, ifc_len(create_qp_in), CREATE_QP);
	uint8_t *qpc = ifc_ptr(in, create_qp_in, qpc);
	struct rig_umem u = rig_umem(&rig, 8192);
	struct rig_cq cq;

	rig_cq(&rig, 4, rig.eqn, &cq);
	ifc_set(qpc, qpc, pd, rig.pdn);
	ifc_set(qpc, qpc, uar_page, rig.uar->page_id);
	ifc_set(qpc, qpc, log_sq_size, 3);
	ifc_set(qpc, qpc, log_rq_size, 3);
	ifc_set(qpc, qpc, cqn_snd, cq.cqn);
	ifc_set(qpc, qpc, cqn_rcv, cq.cqn);
	ifc_set(qpc, qpc, dbr_umem_valid, 1);
	ifc_set(qpc, qpc, dbr_umem_id, u.umem->umem_id);
	ifc_set(qpc, qpc, dbr_addr, 4096);
	ifc_set(in, create_qp_in, wq_umem_valid, 1);
	ifc_set(in, create_qp_in, wq_umem_id, u.umem->umem_id);
	ifc_set(qpc, qpc, st, 0x44);
	refused(in, sizeof(in), IFC_STATUS_BAD_PARAM);
	ifc_set(qpc, qpc, st, IFC_QP_ST_RC);
	ifc_set(qpc, qpc, pd, 0xfffffe);
	refused(in, sizeof(in), IFC_STATUS_BAD_RES);
	ifc_set(qpc, qpc, pd, rig.pdn);
	ifc_set(qpc, qpc, cqn_rcv, 0xfffffe);
	refused(in, sizeof(in), IFC_STATUS_BAD_RES);
	ifc_set(qpc, qpc, cqn_rcv, cq.cqn);
	ifc_set(qpc, qpc, log_sq_size, 15);
	refused(in, sizeof(in), IFC_STATUS_BAD_PARAM);
	ifc_set(qpc, qpc, log_sq_size, 3);
	ifc_set(qpc, qpc, rq_type, IFC_RQ_SRQ);
	ifc_set(qpc, qpc, srqn_rmpn_xrqn, 0xfffffe);
	refused(in, sizeof(in), IFC_STATUS_BAD_RES);
	rig_umem_drop(&u);
	rig_cq_drop(&cq);
}

/* ---- objects that need each other ---- */

static void domains_and_interfaces_go_in_order(void **state)
{
	struct mlx5dv_devx_obj *td, *tis, *pd;
	RIG_IN(in, ifc_len(create_tis_in), CREATE_TIS);
	uint8_t *ctx = ifc_ptr(in, create_tis_in, ctx);
	uint8_t out[ifc_len(query_tis_out)];
	RIG_IN(query, ifc_len(query_tis_in), QUERY_TIS);
	uint32_t number, pdn;

	ifc_set(ctx, tisc, transport_domain, 0xfffff);
	refused(in, sizeof(in), IFC_STATUS_BAD_RES);
	td = create_plain(IFC_OP_ALLOC_TRANSPORT_DOMAIN, &number);
	ifc_set(ctx, tisc, transport_domain, number);
	ifc_set(ctx, tisc, prio, 5);
	tis = create(in, sizeof(in), &number);
	ifc_set(query, query_tis_in, tisn, number);
	assert_int_equal(mlx5dv_devx_obj_query(tis, query, sizeof(query), out, sizeof(out)), 0);
	assert_int_equal(ifc_get(ifc_ptr(out, query_tis_out, tis_context), tisc, prio), 5);
	assert_int_equal(mlx5dv_devx_obj_destroy(td), EBUSY);
	assert_int_equal(mlx5dv_devx_obj_destroy(tis), 0);
	assert_int_equal(mlx5dv_devx_obj_destroy(td), 0);
	pd = create_plain(IFC_OP_ALLOC_PD, &pdn);
	assert_int_not_equal(pdn, rig.pdn);
	assert_int_equal(mlx5dv_devx_obj_destroy(pd), 0);
}

static void raw_queues_keep_state_and_order(void **state)
{
	RIG_IN(in, ifc_len(create_rq_in), CREATE_RQ);
	uint8_t *ctx = ifc_ptr(in, create_rq_in, ctx), *wq = ifc_ptr(ctx, rqc, wq);
	RIG_IN(change, ifc_len(modify_rq_in), MODIFY_RQ);
	uint8_t table[ifc_len(create_rqt_in) + 8] = { 0 };
	uint8_t *rqt = ifc_ptr(table, create_rqt_in, rqt_context), out[0x10];
	struct rig_umem u = rig_umem(&rig, 8192);
	struct mlx5dv_devx_obj *rq, *list;
	uint32_t number, other;
	struct rig_cq cq;

	rig_cq(&rig, 4, rig.eqn, &cq);
	ifc_set(ctx, rqc, cqn, cq.cqn);
	ifc_set(wq, wq, wq_type, IFC_WQ_CYCLIC);
	ifc_set(wq, wq, pd, rig.pdn);
	ifc_set(wq, wq, log_wq_stride, 4);
	ifc_set(wq, wq, log_wq_sz, 6);
	ifc_set(wq, wq, wq_umem_valid, 1);
	ifc_set(wq, wq, wq_umem_id, u.umem->umem_id);
	ifc_set(wq, wq, dbr_umem_valid, 1);
	ifc_set(wq, wq, dbr_umem_id, u.umem->umem_id);
	ifc_set(wq, wq, dbr_addr, 4096);
	rq = create(in, sizeof(in), &number);
	ifc_set(change, modify_rq_in, rqn, number);
	ifc_set(change, modify_rq_in, rq_state, IFC_WQ_RDY);
	ifc_set(ifc_ptr(change, modify_rq_in, ctx), rqc, state, IFC_WQ_RDY);
	assert_int_equal(mlx5dv_devx_obj_modify(rq, change, sizeof(change), out, sizeof(out)),
			 EREMOTEIO);
	assert_int_equal(ifc_get(out, cmd_out, status), IFC_STATUS_BAD_RES_STATE);
	ifc_set(change, modify_rq_in, rq_state, IFC_WQ_RST);
	assert_int_equal(mlx5dv_devx_obj_modify(rq, change, sizeof(change), out, sizeof(out)), 0);
	ifc_set(table, cmd_in, opcode, IFC_OP_CREATE_RQT);
	ifc_set(rqt, rqtc, rqt_max_size, 2);
	ifc_set(rqt, rqtc, rqt_actual_size, 2);
	ifc_set_at(rqt, rqtc, rq_num, 0, number);
	refused(table, sizeof(table), IFC_STATUS_BAD_RES);
	ifc_set_at(rqt, rqtc, rq_num, 1, number);
	list = create(table, sizeof(table), &other);
	assert_int_equal(mlx5dv_devx_obj_destroy(rq), EBUSY);
	assert_int_equal(mlx5dv_devx_obj_destroy(cq.obj), EBUSY);
	assert_int_equal(mlx5dv_devx_obj_destroy(list), 0);
	assert_int_equal(mlx5dv_devx_obj_destroy(rq), 0);
	rig_umem_drop(&u);
	rig_cq_drop(&cq);
}

static void counters_come_singly_and_in_bulk(void **state)
{
	RIG_IN(in, 0x10, ALLOC_FLOW_COUNTER);
	RIG_IN(query, ifc_len(query_flow_counter_in), QUERY_FLOW_COUNTER);
	uint8_t out[ifc_len(query_flow_counter_out) + 2 * ifc_len(traffic_counter)];
	struct mlx5dv_devx_obj *obj;
	uint32_t id;

	ifc_set(in, alloc_flow_counter_in, flow_counter_bulk, 1);
	obj = mlx5dv_devx_obj_create(rig.ctx, in, sizeof(in), out, sizeof(out));
	assert_non_null(obj);
	id = ifc_get(out, alloc_flow_counter_out, flow_counter_id);
	ifc_set(query, query_flow_counter_in, flow_counter_id, id + 126);
	ifc_set(query, query_flow_counter_in, num_of_counters, 2);
	assert_int_equal(mlx5dv_devx_obj_query(obj, query, sizeof(query), out, sizeof(out)), 0);
	ifc_set(query, query_flow_counter_in, num_of_counters, 3);
	assert_int_equal(mlx5dv_devx_obj_query(obj, query, sizeof(query), out, sizeof(out)),
			 EREMOTEIO);
	ifc_set(query, query_flow_counter_in, flow_counter_id, id + 128);
	assert_int_equal(mlx5dv_devx_obj_query(obj, query, sizeof(query), out, sizeof(out)),
			 EINVAL);
	assert_int_equal(mlx5dv_devx_obj_destroy(obj), 0);
}

/* ---- answers that come later, and events ---- */

static void queries_answer_later(void **state)
{
	struct mlx5dv_devx_cmd_comp *comp = mlx5dv_devx_create_cmd_comp(rig.ctx);
	uint8_t buf[sizeof(uint64_t) + ifc_len(query_cq_out)];
	struct mlx5dv_devx_async_cmd_hdr *answer = (void *)buf;
	RIG_IN(in, ifc_len(query_cq_in), QUERY_CQ);
	struct rig_cq cq;

	assert_non_null(comp);
	rig_cq(&rig, 4, rig.eqn, &cq);
	ifc_set(in, query_cq_in, cqn, cq.cqn);
	assert_int_equal(fcntl(comp->fd, F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(mlx5dv_devx_get_async_cmd_comp(comp, answer, sizeof(buf)), EAGAIN);
	for (uint64_t id = 70; id < 73; id++)
		assert_int_equal(mlx5dv_devx_obj_query_async(cq.obj, in, sizeof(in),
							     ifc_len(query_cq_out), id, comp),
				 0);
	assert_int_equal(mlx5dv_devx_obj_query_async(cq.obj, in, 4, ifc_len(query_cq_out), 1, comp),
			 EINVAL);
	rig_wait_readable(comp->fd);
	assert_int_equal(mlx5dv_devx_get_async_cmd_comp(comp, answer, 20), ENOSPC);
	for (uint64_t id = 70; id < 73; id++) {
		uint8_t *cqc = ifc_ptr(answer->out_data, query_cq_out, cq_context);

		assert_int_equal(mlx5dv_devx_get_async_cmd_comp(comp, answer, sizeof(buf)), 0);
		assert_int_equal(answer->wr_id, id);
		assert_int_equal(ifc_get(cqc, cqc, log_cq_size), 4);
	}
	assert_false(rig_is_readable(comp->fd));
	mlx5dv_devx_destroy_cmd_comp(comp);
	rig_cq_drop(&cq);
}

static void subscribers_hear_of_completions(void **state)
{
	struct mlx5dv_devx_event_channel *ch = mlx5dv_devx_create_event_channel(rig.ctx, 0);
	uint16_t comp = IFC_EVENT_COMP, port = IFC_EVENT_PORT_STATE;
	uint8_t buf[8 + 64], *eqe = buf + 8;
	struct mlx5dv_devx_async_event_hdr *event = (void *)buf;
	int efd = eventfd(0, EFD_NONBLOCK), other;
	struct rig_cq cq;
	struct rig_qp qp;
	uint64_t count;

	assert_non_null(ch);
	rig_cq(&rig, 4, rig.eqn, &cq);
	rig_qp(&rig, 4, 4, 0, &cq, &qp);
	rig_connect(&qp, &qp);
	assert_int_equal(mlx5dv_devx_subscribe_devx_event(ch, NULL, 2, &comp, 1), EINVAL);
	assert_int_equal(mlx5dv_devx_subscribe_devx_event(ch, cq.obj, 2, &port, 1), EINVAL);
	assert_int_equal(mlx5dv_devx_subscribe_devx_event(ch, cq.obj, 1, &comp, 1), EINVAL);
	assert_int_equal(mlx5dv_devx_subscribe_devx_event(ch, qp.obj, 2, &comp, 1), EINVAL);
	assert_int_equal(mlx5dv_devx_subscribe_devx_event(ch, cq.obj, 2, &comp, 0xc00c1e), 0);
	assert_int_equal(mlx5dv_devx_subscribe_devx_event_fd(ch, efd, cq.obj, comp), 0);
	assert_int_equal(mlx5dv_devx_subscribe_devx_event_fd(ch, -1, cq.obj, comp), EBADF);
	/* Bytes of a counter have no place in a file. */
	other = open("/dev/null", O_WRONLY | O_CLOEXEC);
	assert_int_equal(mlx5dv_devx_subscribe_devx_event_fd(ch, other, cq.obj, comp), EINVAL);
	close(other);
	assert_int_equal(fcntl(ch->fd, F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(mlx5dv_devx_get_event(ch, event, sizeof(buf)), -1);
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(mlx5dv_devx_get_event(ch, event, 8), -1); /* nothing is too long yet */
	assert_int_equal(errno, EAGAIN);
	for (int i = 0; i < 20; i++) {
		rig_cq_arm(&cq);
		rig_send(&qp, MLX5_OPCODE_RDMA_WRITE, 0, 64, 4096);
		rig_wait_readable(ch->fd);
		assert_int_equal(mlx5dv_devx_get_event(ch, event, 8), -1);
		assert_int_equal(errno, EINVAL);
		assert_int_equal(mlx5dv_devx_get_event(ch, event, sizeof(buf)), sizeof(buf));
		assert_int_equal(event->cookie, 0xc00c1e);
		assert_int_equal(ifc_get(eqe, eqe, type), IFC_EVENT_COMP);
		assert_int_equal(ifc_get(ifc_ptr(eqe, eqe, data), eqe_comp, cqn), cq.cqn);
		rig_wait_readable(efd);
		assert_int_equal(read(efd, &count, sizeof(count)), sizeof(count));
		assert_int_equal(count, 1);
		rig_cq_wait(&cq);
		rig_cq_take(&cq);
	}
	rig_qp_drop(&qp);
	rig_cq_drop(&cq);
	mlx5dv_devx_destroy_event_channel(ch);
	close(efd);
}

static void subscribers_hear_of_the_last_receive(void **state)
{
	struct mlx5dv_devx_event_channel *ch = mlx5dv_devx_create_event_channel(
		rig.ctx, MLX5DV_DEVX_CREATE_EVENT_CHANNEL_FLAGS_OMIT_EV_DATA);
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 8, .max_sge = 1 } };
	struct ibv_srq *srq = ibv_create_srq(rig.pd, &attr);
	struct mlx5dv_devx_async_event_hdr event;
	uint16_t last = IFC_EVENT_SRQ_LAST_WQE;
	uint8_t out[ifc_len(modify_qp_out)];
	struct rig_cq cq;
	struct rig_qp qp;
	uint32_t srqn;

	assert_non_null(ch);
	assert_non_null(srq);
	assert_int_equal(ibv_get_srq_num(srq, &srqn), 0);
	rig_cq(&rig, 4, rig.eqn, &cq);
	rig_qp(&rig, 4, 4, srqn, &cq, &qp);
	rig_connect(&qp, &qp);
	assert_int_equal(mlx5dv_devx_subscribe_devx_event(ch, qp.obj, 2, &last, 0x1a57), 0);
	assert_int_equal(rig_modify(&qp, IFC_OP_2ERR_QP, 0, out), 0);
	rig_wait_readable(ch->fd);
	assert_int_equal(mlx5dv_devx_get_event(ch, &event, sizeof(event)), sizeof(event));
	assert_int_equal(event.cookie, 0x1a57);
	/* Readers of asynchronous events of verbs objects do not get it. */
	assert_false(rig_is_readable(rig.ctx->async_fd));
	mlx5dv_devx_destroy_event_channel(ch);
	rig_qp_drop(&qp);
	rig_cq_drop(&cq);
	assert_int_equal(ibv_destroy_srq(srq), 0);
}

/* ---- verbs objects ---- */

static void verbs_objects_take_commands(void **state)
{
	struct pair_wish wish = { .type = IBV_QPT_RC, .unconnected = true };
	uint8_t out[ifc_len(query_qp_out)], *qpc = ifc_ptr(out, query_qp_out, qpc);
	RIG_IN(init, ifc_len(modify_qp_in), RST2INIT_QP);
	RIG_IN(query, ifc_len(query_qp_in), QUERY_QP);
	RIG_IN(cq, ifc_len(query_cq_in), QUERY_CQ);
	RIG_IN(slow, ifc_len(modify_cq_in), MODIFY_CQ);
	struct mlx5dv_cq raw = { 0 };
	struct mlx5dv_obj obj = { .cq = { .out = &raw } };
	struct pair p;
	uint8_t *cqc;

	pair_make(&p, &wish);
	pair_to_reset(p.qp[0]);
	ifc_set(init, modify_qp_in, qpn, p.qp[0]->qp_num);
	ifc_set(ifc_ptr(ifc_ptr(init, modify_qp_in, qpc), qpc, primary_address_path), ads,
		vhca_port_num, 1);
	assert_int_equal(mlx5dv_devx_qp_modify(p.qp[0], init, sizeof(init), out, sizeof(out)), 0);
	assert_int_equal(p.qp[0]->state, IBV_QPS_INIT);
	ifc_set(query, query_qp_in, qpn, p.qp[0]->qp_num);
	assert_int_equal(mlx5dv_devx_qp_query(p.qp[0], query, sizeof(query), out, sizeof(out)), 0);
	assert_int_equal(ifc_get(qpc, qpc, state), IFC_QP_INIT);
	obj.cq.in = p.cq[0];
	assert_int_equal(mlx5dv_init_obj(&obj, MLX5DV_OBJ_CQ), 0);
	ifc_set(slow, modify_cq_in, cqn, raw.cqn);
	ifc_set(slow, modify_cq_in, field_select, IFC_CQ_SELECT_PERIOD | IFC_CQ_SELECT_MAX_COUNT);
	ifc_set(ifc_ptr(slow, modify_cq_in, cq_context), cqc, cq_period, 12);
	assert_int_equal(mlx5dv_devx_cq_modify(p.cq[0], slow, sizeof(slow), out, sizeof(out)), 0);
	ifc_set(cq, query_cq_in, cqn, raw.cqn);
	assert_int_equal(mlx5dv_devx_cq_query(p.cq[0], cq, sizeof(cq), out, sizeof(out)), 0);
	cqc = ifc_ptr(out, query_cq_out, cq_context);
	assert_int_equal(ifc_get(cqc, cqc, cq_period), 12);
	assert_int_equal(1u << ifc_get(cqc, cqc, log_cq_size), raw.cqe_cnt);
	pair_drop(&p);
}

static void work_queues_of_verbs_take_commands(void **state)
{
	uint8_t out[ifc_len(query_rqt_out) + 8], in[ifc_len(modify_rqt_in) + 8] = { 0 };
	uint8_t *rqt = ifc_ptr(in, modify_rqt_in, rqt_context);
	RIG_IN(query, ifc_len(query_rq_in), QUERY_RQ);
	RIG_IN(ready, ifc_len(modify_rq_in), MODIFY_RQ);
	RIG_IN(list, ifc_len(query_rqt_in), QUERY_RQT);
	struct ibv_cq *cq = ibv_create_cq(rig.ctx, 16, NULL, NULL, 0);
	struct ibv_wq_init_attr attr = { .wq_type = IBV_WQT_RQ, .max_wr = 8, .max_sge = 1 };
	struct ibv_rwq_ind_table_init_attr init = { .log_ind_tbl_size = 1 };
	struct ibv_rwq_ind_table *table;
	struct ibv_wq *wq[2], *swapped[2];

	attr.pd = rig.pd;
	attr.cq = cq;
	for (int i = 0; i < 2; i++) {
		wq[i] = ibv_create_wq(rig.ctx, &attr);
		assert_non_null(wq[i]);
		swapped[1 - i] = wq[i];
	}
	ifc_set(ready, modify_rq_in, rqn, wq[0]->wq_num);
	ifc_set(ifc_ptr(ready, modify_rq_in, ctx), rqc, state, IFC_WQ_RDY);
	assert_int_equal(mlx5dv_devx_wq_modify(wq[0], ready, sizeof(ready), out, sizeof(out)), 0);
	assert_int_equal(wq[0]->state, IBV_WQS_RDY);
	ifc_set(query, query_rq_in, rqn, wq[0]->wq_num);
	assert_int_equal(mlx5dv_devx_wq_query(wq[0], query, sizeof(query), out, sizeof(out)), 0);
	assert_int_equal(ifc_get(ifc_ptr(out, query_rq_out, rq_context), rqc, state), IFC_WQ_RDY);
	init.ind_tbl = wq;
	table = ibv_create_rwq_ind_table(rig.ctx, &init);
	assert_non_null(table);
	ifc_set(in, cmd_in, opcode, IFC_OP_MODIFY_RQT);
	ifc_set(in, modify_rqt_in, rqtn, table->ind_tbl_num);
	ifc_set(in, modify_rqt_in, modify_bitmask, IFC_MODIFY_RQT_LIST);
	ifc_set(rqt, rqtc, rqt_actual_size, 2);
	for (int i = 0; i < 2; i++)
		ifc_set_at(rqt, rqtc, rq_num, i, swapped[i]->wq_num);
	assert_int_equal(mlx5dv_devx_ind_tbl_modify(table, in, sizeof(in), out, sizeof(out)), 0);
	ifc_set(list, query_rqt_in, rqtn, table->ind_tbl_num);
	assert_int_equal(mlx5dv_devx_ind_tbl_query(table, list, sizeof(list), out, sizeof(out)), 0);
	rqt = ifc_ptr(out, query_rqt_out, rqt_context);
	for (int i = 0; i < 2; i++)
		assert_int_equal(ifc_get_at(rqt, rqtc, rq_num, i), swapped[i]->wq_num);
	/* by handles that name nothing */
	table->ind_tbl_handle ^= 0x100000;
	assert_int_equal(mlx5dv_devx_ind_tbl_query(table, list, sizeof(list), out, sizeof(out)),
			 ENOENT);
	assert_int_equal(mlx5dv_devx_ind_tbl_modify(table, in, sizeof(in), out, sizeof(out)),
			 ENOENT);
	table->ind_tbl_handle ^= 0x100000;
	wq[0]->handle ^= 0x100000;
	assert_int_equal(mlx5dv_devx_wq_query(wq[0], query, sizeof(query), out, sizeof(out)),
			 ENOENT);
	assert_int_equal(mlx5dv_devx_wq_modify(wq[0], ready, sizeof(ready), out, sizeof(out)),
			 ENOENT);
	wq[0]->handle ^= 0x100000;
	assert_int_equal(ibv_destroy_rwq_ind_table(table), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(ibv_destroy_wq(wq[i]), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

/* Command and answer of no meaning: the object is looked up first. */
#define NO_OBJECT(call, obj, command)                                                              \
	assert_int_equal(call((obj), (command), sizeof(command), out, sizeof(out)), ENOENT)

/* As with calls of verbs, the kernel finds the object by its handle. */
static void commands_on_a_handle_that_names_nothing_are_refused(void **state)
{
	struct pair_wish wish = { .type = IBV_QPT_RC, .unconnected = true };
	struct ibv_srq_init_attr srq_attr = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_srq *srq = ibv_create_srq(rig.pd, &srq_attr);
	RIG_IN(qp, ifc_len(query_qp_in), QUERY_QP);
	RIG_IN(reset, ifc_len(modify_qp_in), 2RST_QP);
	RIG_IN(cq, ifc_len(query_cq_in), QUERY_CQ);
	uint8_t out[512], port, active;
	struct pair p;

	assert_non_null(srq);
	pair_make(&p, &wish);
	p.qp[0]->handle ^= 0x100000;
	NO_OBJECT(mlx5dv_devx_qp_query, p.qp[0], qp);
	NO_OBJECT(mlx5dv_devx_qp_modify, p.qp[0], reset);
	assert_int_equal(mlx5dv_modify_qp_udp_sport(p.qp[0], 0xc123), ENOENT);
	assert_int_equal(mlx5dv_dci_stream_id_reset(p.qp[0], 1), ENOENT);
	assert_int_equal(mlx5dv_query_qp_lag_port(p.qp[0], &port, &active), ENOENT);
	assert_int_equal(mlx5dv_modify_qp_lag_port(p.qp[0], 1), ENOENT);
	p.qp[0]->handle ^= 0x100000;
	p.cq[0]->handle ^= 0x100000;
	NO_OBJECT(mlx5dv_devx_cq_query, p.cq[0], cq);
	NO_OBJECT(mlx5dv_devx_cq_modify, p.cq[0], cq);
	p.cq[0]->handle ^= 0x100000;
	srq->handle ^= 0x100000;
	NO_OBJECT(mlx5dv_devx_srq_query, srq, cq);
	NO_OBJECT(mlx5dv_devx_srq_modify, srq, cq);
	srq->handle ^= 0x100000;
	assert_int_equal(ibv_destroy_srq(srq), 0);
	pair_drop(&p);
}

/* A context takes along what the program left behind. */
static void closing_leaves_nothing(void **state)
{
	struct ibv_context *ctx = pair_open("mlx5_0");
	RIG_IN(pd, 0x10, ALLOC_PD);
	RIG_IN(td, 0x10, ALLOC_TRANSPORT_DOMAIN);
	uint8_t out[0x10];

	assert_non_null(mlx5dv_devx_obj_create(ctx, pd, sizeof(pd), out, sizeof(out)));
	assert_non_null(mlx5dv_devx_obj_create(ctx, td, sizeof(td), out, sizeof(out)));
	assert_non_null(mlx5dv_devx_alloc_uar(ctx, MLX5DV_UAR_ALLOC_TYPE_BF));
	assert_non_null(mlx5dv_devx_alloc_msi_vector(ctx));
	assert_int_equal(ibv_close_device(ctx), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_short_mailbox_is_einval_and_stays_untouched),
		cmocka_unit_test(an_unknown_opcode_gets_its_status),
		cmocka_unit_test(a_command_goes_through_its_own_call),
		cmocka_unit_test(capabilities_are_those_of_the_adapter),
		cmocka_unit_test(ports_that_are_not_bonded_say_so),
		cmocka_unit_test(addresses_are_those_of_the_gid_table),
		cmocka_unit_test(ports_are_told_of),
		cmocka_unit_test(registers_can_be_read),
		cmocka_unit_test(umems_are_checked),
		cmocka_unit_test(a_ring_may_be_in_a_dmabuf),
		cmocka_unit_test(a_memory_key_is_as_good_as_a_region),
		cmocka_unit_test(completion_queues_are_checked),
		cmocka_unit_test(queue_pairs_are_checked),
		cmocka_unit_test(domains_and_interfaces_go_in_order),
		cmocka_unit_test(raw_queues_keep_state_and_order),
		cmocka_unit_test(counters_come_singly_and_in_bulk),
		cmocka_unit_test(queries_answer_later),
		cmocka_unit_test(subscribers_hear_of_completions),
		cmocka_unit_test(subscribers_hear_of_the_last_receive),
		cmocka_unit_test(verbs_objects_take_commands),
		cmocka_unit_test(work_queues_of_verbs_take_commands),
		cmocka_unit_test(commands_on_a_handle_that_names_nothing_are_refused),
		cmocka_unit_test(closing_leaves_nothing),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
