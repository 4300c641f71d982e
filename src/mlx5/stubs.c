/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The calls of libmlx5 that have no implementation yet, one line each. Delete the line of a call
 * together with writing the call; docs/support.py then counts it as working.
 */
#include "util/stub.h"

/* Devices and contexts */
STUB_ERRNO(_mlx5dv_query_port)
STUB_ERRNO(mlx5dv_get_data_direct_sysfs_path)
STUB_PTR(mlx5dv_get_vfio_device_list)
STUB_MINUS1(mlx5dv_vfio_get_events_fd)
STUB_ERRNO(mlx5dv_vfio_process_events)

/* The rings of an object; the older node reported no doorbell page of a completion queue */
OLD_ERRNO(mlx5dv_init_obj, "MLX5_1.0")

/* Completion queues, queue pairs, work queues */
STUB_NEG(mlx5dv_qp_cancel_posted_send_wrs)
STUB_ERRNO(mlx5dv_query_qp_lag_port)
STUB_ERRNO(mlx5dv_modify_qp_lag_port)
STUB_ERRNO(mlx5dv_modify_qp_udp_sport)
STUB_ERRNO(mlx5dv_modify_qp_sched_elem)
STUB_ERRNO(mlx5dv_map_ah_to_qp)
STUB_ERRNO(mlx5dv_reserved_qpn_alloc)
STUB_ERRNO(mlx5dv_reserved_qpn_dealloc)

/* Memory and keys */
STUB_PTR(mlx5dv_alloc_dm)
STUB_PTR(mlx5dv_dm_map_op_addr)
STUB_PTR(mlx5dv_reg_dmabuf_mr)

/* Encryption */
STUB_ERRNO(mlx5dv_crypto_login)
STUB_ERRNO(mlx5dv_crypto_login_query_state)
STUB_ERRNO(mlx5dv_crypto_logout)
STUB_PTR(mlx5dv_crypto_login_create)
STUB_ERRNO(mlx5dv_crypto_login_query)
STUB_ERRNO(mlx5dv_crypto_login_destroy)
STUB_PTR(mlx5dv_dek_create)
STUB_ERRNO(mlx5dv_dek_query)
STUB_ERRNO(mlx5dv_dek_destroy)

/* Flow steering through the kernel's tables */
STUB_PTR(mlx5dv_create_steering_anchor)
STUB_ERRNO(mlx5dv_destroy_steering_anchor)

/* Direct rules */
STUB_PTR(mlx5dv_dr_action_create_aso)
STUB_PTR(mlx5dv_dr_action_create_dest_root_table)
STUB_PTR(mlx5dv_dr_action_create_flow_meter)
STUB_ERRNO(mlx5dv_dr_action_modify_aso)
STUB_ERRNO(mlx5dv_dr_action_modify_flow_meter)
STUB_ERRNO(mlx5dv_dr_aso_other_domain_link)
STUB_ERRNO(mlx5dv_dr_aso_other_domain_unlink)

/* DEVX */
STUB_ERRNO(mlx5dv_devx_obj_export)
STUB_PTR(mlx5dv_devx_obj_import)
STUB_VOID(mlx5dv_devx_obj_unimport)
STUB_ERRNO(mlx5dv_devx_umem_export)
STUB_PTR(mlx5dv_devx_umem_import)
STUB_VOID(mlx5dv_devx_umem_unimport)
STUB_MINUS1(mlx5dv_devx_uar_export_dmabuf_fd)
STUB_ERRNO(mlx5dv_devx_wq_query)
STUB_ERRNO(mlx5dv_devx_wq_modify)
STUB_ERRNO(mlx5dv_devx_ind_tbl_query)
STUB_ERRNO(mlx5dv_devx_ind_tbl_modify)

/* Doorbell areas of virtio, packet pacing, scheduling */
STUB_PTR(mlx5dv_alloc_var)
STUB_VOID(mlx5dv_free_var)
STUB_ERRNO(mlx5dv_var_export)
STUB_PTR(mlx5dv_var_import)
STUB_VOID(mlx5dv_var_unimport)
STUB_CLEAR(_mlx5dv_get_export_sizes)
STUB_PTR(mlx5dv_pp_alloc)
STUB_VOID(mlx5dv_pp_free)
STUB_PTR(mlx5dv_sched_node_create)
STUB_ERRNO(mlx5dv_sched_node_modify)
STUB_ERRNO(mlx5dv_sched_node_destroy)
STUB_PTR(mlx5dv_sched_leaf_create)
STUB_ERRNO(mlx5dv_sched_leaf_modify)
STUB_ERRNO(mlx5dv_sched_leaf_destroy)
