/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Private symbols of libibverbs.so.1: what the drivers of rdma-core import. Those drivers load, but get no
 * device from this library, so that nothing calls these; they stay stubs.
 */
#include "verbs/private.h"

#include "util/stub.h"

/* Defined apart from its user, which has to find a program's copy of it (copy relocation). */
VB_PRIVATE(verbs_allow_disassociate_destroy);
bool verbs_allow_disassociate_destroy;

#define PRIVATE_STUB(type, name)                                                                   \
	VB_API type name(void);                                                                    \
	VB_PRIVATE(name);

#define PRIVATE_PTR(name)    PRIVATE_STUB(void *, name) STUB_PTR(name)
#define PRIVATE_ERRNO(name)  PRIVATE_STUB(long, name) STUB_ERRNO(name)
#define PRIVATE_MINUS1(name) PRIVATE_STUB(long, name) STUB_MINUS1(name)
#define PRIVATE_ZERO(name)   PRIVATE_STUB(long, name) STUB_ZERO(name)
#define PRIVATE_VOID(name)   PRIVATE_STUB(void, name) STUB_VOID(name)

PRIVATE_ZERO(__ioctl_final_num_attrs)
PRIVATE_VOID(__verbs_log)
PRIVATE_PTR(_verbs_init_and_alloc_context)
PRIVATE_ERRNO(execute_ioctl)
PRIVATE_ERRNO(ibv_cmd_advise_mr)
PRIVATE_ERRNO(ibv_cmd_alloc_dm)
PRIVATE_ERRNO(ibv_cmd_alloc_dmah)
PRIVATE_ERRNO(ibv_cmd_alloc_mw)
PRIVATE_ERRNO(ibv_cmd_alloc_pd)
PRIVATE_ERRNO(ibv_cmd_attach_mcast)
PRIVATE_ERRNO(ibv_cmd_close_xrcd)
PRIVATE_ERRNO(ibv_cmd_create_ah)
PRIVATE_ERRNO(ibv_cmd_create_comp_cntr)
PRIVATE_ERRNO(ibv_cmd_create_counters)
PRIVATE_ERRNO(ibv_cmd_create_cq)
PRIVATE_ERRNO(ibv_cmd_create_cq_ex)
PRIVATE_ERRNO(ibv_cmd_create_cq_ex2)
PRIVATE_ERRNO(ibv_cmd_create_flow)
PRIVATE_ERRNO(ibv_cmd_create_flow_action_esp)
PRIVATE_ERRNO(ibv_cmd_create_qp)
PRIVATE_ERRNO(ibv_cmd_create_qp_ex)
PRIVATE_ERRNO(ibv_cmd_create_qp_ex2)
PRIVATE_ERRNO(ibv_cmd_create_rwq_ind_table)
PRIVATE_ERRNO(ibv_cmd_create_srq)
PRIVATE_ERRNO(ibv_cmd_create_srq_ex)
PRIVATE_ERRNO(ibv_cmd_create_wq)
PRIVATE_ERRNO(ibv_cmd_dealloc_mw)
PRIVATE_ERRNO(ibv_cmd_dealloc_pd)
PRIVATE_ERRNO(ibv_cmd_dereg_mr)
PRIVATE_ERRNO(ibv_cmd_destroy_ah)
PRIVATE_ERRNO(ibv_cmd_destroy_comp_cntr)
PRIVATE_ERRNO(ibv_cmd_destroy_counters)
PRIVATE_ERRNO(ibv_cmd_destroy_cq)
PRIVATE_ERRNO(ibv_cmd_destroy_flow)
PRIVATE_ERRNO(ibv_cmd_destroy_flow_action)
PRIVATE_ERRNO(ibv_cmd_destroy_qp)
PRIVATE_ERRNO(ibv_cmd_destroy_rwq_ind_table)
PRIVATE_ERRNO(ibv_cmd_destroy_srq)
PRIVATE_ERRNO(ibv_cmd_destroy_wq)
PRIVATE_ERRNO(ibv_cmd_detach_mcast)
PRIVATE_MINUS1(ibv_cmd_export_dmabuf_fd)
PRIVATE_ERRNO(ibv_cmd_free_dm)
PRIVATE_ERRNO(ibv_cmd_free_dmah)
PRIVATE_ERRNO(ibv_cmd_get_context)
PRIVATE_ERRNO(ibv_cmd_inc_comp_cntr)
PRIVATE_ERRNO(ibv_cmd_inc_err_comp_cntr)
PRIVATE_ERRNO(ibv_cmd_modify_cq)
PRIVATE_ERRNO(ibv_cmd_modify_flow_action_esp)
PRIVATE_ERRNO(ibv_cmd_modify_qp)
PRIVATE_ERRNO(ibv_cmd_modify_qp_ex)
PRIVATE_ERRNO(ibv_cmd_modify_srq)
PRIVATE_ERRNO(ibv_cmd_modify_wq)
PRIVATE_ERRNO(ibv_cmd_open_qp)
PRIVATE_ERRNO(ibv_cmd_open_xrcd)
PRIVATE_MINUS1(ibv_cmd_poll_cq)
PRIVATE_ERRNO(ibv_cmd_post_recv)
PRIVATE_ERRNO(ibv_cmd_post_send)
PRIVATE_ERRNO(ibv_cmd_post_srq_recv)
PRIVATE_ERRNO(ibv_cmd_qp_attach_comp_cntr)
PRIVATE_ERRNO(ibv_cmd_query_comp_cntr_caps)
PRIVATE_ERRNO(ibv_cmd_query_context)
PRIVATE_ERRNO(ibv_cmd_query_device)
PRIVATE_ERRNO(ibv_cmd_query_device_any)
PRIVATE_ERRNO(ibv_cmd_query_device_ex)
PRIVATE_ERRNO(ibv_cmd_query_mr)
PRIVATE_ERRNO(ibv_cmd_query_port)
PRIVATE_ERRNO(ibv_cmd_query_port_speed)
PRIVATE_ERRNO(ibv_cmd_query_qp)
PRIVATE_ERRNO(ibv_cmd_query_srq)
PRIVATE_ERRNO(ibv_cmd_read_comp_cntr)
PRIVATE_ERRNO(ibv_cmd_read_counters)
PRIVATE_ERRNO(ibv_cmd_read_err_comp_cntr)
PRIVATE_ERRNO(ibv_cmd_reg_dm_mr)
PRIVATE_ERRNO(ibv_cmd_reg_dmabuf_mr)
PRIVATE_ERRNO(ibv_cmd_reg_mr)
PRIVATE_ERRNO(ibv_cmd_reg_mr_ex)
PRIVATE_ERRNO(ibv_cmd_req_notify_cq)
PRIVATE_ERRNO(ibv_cmd_rereg_mr)
PRIVATE_ERRNO(ibv_cmd_resize_cq)
PRIVATE_ERRNO(ibv_cmd_set_comp_cntr)
PRIVATE_ERRNO(ibv_cmd_set_err_comp_cntr)
PRIVATE_PTR(ibv_dmabuf_heap_alloc)
PRIVATE_PTR(ibv_dmabuf_heap_cc_shared_init)
PRIVATE_VOID(ibv_dmabuf_heap_destroy)
PRIVATE_VOID(ibv_dmabuf_heap_free)
PRIVATE_MINUS1(ibv_get_fw_ver)
PRIVATE_MINUS1(ibv_read_ibdev_sysfs_file)
PRIVATE_VOID(verbs_init_cq)
PRIVATE_PTR(verbs_open_device)
PRIVATE_VOID(verbs_set_ops)
PRIVATE_VOID(verbs_uninit_context)

/*
 * Drivers register themselves from a constructor, by a call that has the number of its node in its name
 * since 16. Only Verbena's own drivers are used, so the registration is ignored, and not explained: it is no
 * refusal.
 */
#define REGISTER(name)                                                                             \
	VB_API void name(const void *ops);                                                         \
	void name(const void *ops)                                                                 \
	{                                                                                          \
	}

VB_API void verbs_register_driver(const void *ops);
VB_PRIVATE(verbs_register_driver);
REGISTER(verbs_register_driver)
REGISTER(verbs_register_driver_16)
REGISTER(verbs_register_driver_17)
REGISTER(verbs_register_driver_18)
REGISTER(verbs_register_driver_19)
REGISTER(verbs_register_driver_20)
REGISTER(verbs_register_driver_21)
REGISTER(verbs_register_driver_22)
REGISTER(verbs_register_driver_25)
REGISTER(verbs_register_driver_33)
REGISTER(verbs_register_driver_34)
REGISTER(verbs_register_driver_57)
REGISTER(verbs_register_driver_59)
REGISTER(verbs_register_driver_64)
REGISTER(verbs_register_driver_65)
