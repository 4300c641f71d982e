/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * DEVX: device commands, device objects, user memory, doorbell pages and events in the hands of
 * the program, and the DEVX_* macros that read and write command mailboxes. Part of mlx5dv.h;
 * programs include that one.
 */
#ifndef _MLX5DV_DEVX_H_
#define _MLX5DV_DEVX_H_

#include <endian.h>
#include <stddef.h>
#include <stdint.h>
#include <linux/types.h>
#include <sys/types.h>

#include <infiniband/verbs.h>
#include <infiniband/mlx5_api.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Commands and the objects they create; in and out are mailboxes. */

struct mlx5dv_devx_obj;

int mlx5dv_devx_general_cmd(struct ibv_context *context, const void *in, size_t inlen, void *out,
			    size_t outlen);

struct mlx5dv_devx_obj *mlx5dv_devx_obj_create(struct ibv_context *context, const void *in,
					       size_t inlen, void *out, size_t outlen);
int mlx5dv_devx_obj_query(struct mlx5dv_devx_obj *obj, const void *in, size_t inlen, void *out,
			  size_t outlen);
int mlx5dv_devx_obj_modify(struct mlx5dv_devx_obj *obj, const void *in, size_t inlen, void *out,
			   size_t outlen);
int mlx5dv_devx_obj_destroy(struct mlx5dv_devx_obj *obj);

int mlx5dv_devx_obj_export(struct mlx5dv_devx_obj *obj, void *data);
struct mlx5dv_devx_obj *mlx5dv_devx_obj_import(struct ibv_context *context, void *data);
void mlx5dv_devx_obj_unimport(struct mlx5dv_devx_obj *obj);

/* Queries and changes of verbs objects. */

int mlx5dv_devx_cq_query(struct ibv_cq *cq, const void *in, size_t inlen, void *out, size_t outlen);
int mlx5dv_devx_cq_modify(struct ibv_cq *cq, const void *in, size_t inlen, void *out,
			  size_t outlen);
int mlx5dv_devx_qp_query(struct ibv_qp *qp, const void *in, size_t inlen, void *out, size_t outlen);
int mlx5dv_devx_qp_modify(struct ibv_qp *qp, const void *in, size_t inlen, void *out,
			  size_t outlen);
int mlx5dv_devx_srq_query(struct ibv_srq *srq, const void *in, size_t inlen, void *out,
			  size_t outlen);
int mlx5dv_devx_srq_modify(struct ibv_srq *srq, const void *in, size_t inlen, void *out,
			   size_t outlen);
int mlx5dv_devx_wq_query(struct ibv_wq *wq, const void *in, size_t inlen, void *out, size_t outlen);
int mlx5dv_devx_wq_modify(struct ibv_wq *wq, const void *in, size_t inlen, void *out,
			  size_t outlen);
int mlx5dv_devx_ind_tbl_query(struct ibv_rwq_ind_table *ind_tbl, const void *in, size_t inlen,
			      void *out, size_t outlen);
int mlx5dv_devx_ind_tbl_modify(struct ibv_rwq_ind_table *ind_tbl, const void *in, size_t inlen,
			       void *out, size_t outlen);

/* Memory the device may reach */

struct mlx5dv_devx_umem {
	uint32_t umem_id;
};

enum mlx5dv_devx_umem_in_mask {
	MLX5DV_UMEM_MASK_DMABUF = 1 << 0,
};

struct mlx5dv_devx_umem_in {
	void *addr;
	size_t size;
	uint32_t access;
	uint64_t pgsz_bitmap;
	uint64_t comp_mask; /* mlx5dv_devx_umem_in_mask */
	int dmabuf_fd;
};

struct mlx5dv_devx_umem *mlx5dv_devx_umem_reg(struct ibv_context *ctx, void *addr, size_t size,
					      uint32_t access);
struct mlx5dv_devx_umem *mlx5dv_devx_umem_reg_ex(struct ibv_context *ctx,
						 struct mlx5dv_devx_umem_in *umem_in);
int mlx5dv_devx_umem_dereg(struct mlx5dv_devx_umem *umem);

int mlx5dv_devx_umem_export(struct mlx5dv_devx_umem *umem, void *data);
struct mlx5dv_devx_umem *mlx5dv_devx_umem_import(struct ibv_context *context, void *data);
void mlx5dv_devx_umem_unimport(struct mlx5dv_devx_umem *umem);

/* Doorbell (UAR) and virtio (VAR) pages */

struct mlx5dv_devx_uar {
	void *reg_addr;
	void *base_addr;
	uint32_t page_id;
	off_t mmap_off;
	uint64_t comp_mask;
};

struct mlx5dv_devx_uar *mlx5dv_devx_alloc_uar(struct ibv_context *context, uint32_t flags);
void mlx5dv_devx_free_uar(struct mlx5dv_devx_uar *devx_uar);
int mlx5dv_devx_uar_export_dmabuf_fd(struct mlx5dv_devx_uar *devx_uar);

struct mlx5dv_var {
	uint32_t page_id;
	uint32_t length;
	off_t mmap_off;
	uint64_t comp_mask;
};

struct mlx5dv_var *mlx5dv_alloc_var(struct ibv_context *context, uint32_t flags);
void mlx5dv_free_var(struct mlx5dv_var *dv_var);

int mlx5dv_var_export(struct mlx5dv_var *dv_var, void *data);
struct mlx5dv_var *mlx5dv_var_import(struct ibv_context *context, void *data);
void mlx5dv_var_unimport(struct mlx5dv_var *dv_var);

/* How large the data of the export calls is. */
struct mlx5dv_export_sizes {
	uint32_t var_attrs_size;
	uint32_t devx_umem_attrs_size;
	uint32_t devx_obj_attrs_size;
};

void _mlx5dv_get_export_sizes(struct mlx5dv_export_sizes *sizes, size_t sizes_len);

static inline void mlx5dv_get_export_sizes(struct mlx5dv_export_sizes *sizes)
{
	_mlx5dv_get_export_sizes(sizes, sizeof(struct mlx5dv_export_sizes));
}

/* Commands that answer later */

struct mlx5dv_devx_cmd_comp {
	int fd;
};

struct mlx5dv_devx_cmd_comp *mlx5dv_devx_create_cmd_comp(struct ibv_context *context);
void mlx5dv_devx_destroy_cmd_comp(struct mlx5dv_devx_cmd_comp *cmd_comp);
int mlx5dv_devx_obj_query_async(struct mlx5dv_devx_obj *obj, const void *in, size_t inlen,
				size_t outlen, uint64_t wr_id,
				struct mlx5dv_devx_cmd_comp *cmd_comp);
int mlx5dv_devx_get_async_cmd_comp(struct mlx5dv_devx_cmd_comp *cmd_comp,
				   struct mlx5dv_devx_async_cmd_hdr *cmd_resp, size_t cmd_resp_len);

/* Device events. obj is NULL for events that concern no object. */

struct mlx5dv_devx_event_channel {
	int fd;
};

struct mlx5dv_devx_event_channel *
mlx5dv_devx_create_event_channel(struct ibv_context *context,
				 enum mlx5dv_devx_create_event_channel_flags flags);
void mlx5dv_devx_destroy_event_channel(struct mlx5dv_devx_event_channel *event_channel);
int mlx5dv_devx_subscribe_devx_event(struct mlx5dv_devx_event_channel *event_channel,
				     struct mlx5dv_devx_obj *obj, uint16_t events_sz,
				     uint16_t events_num[], uint64_t cookie);
int mlx5dv_devx_subscribe_devx_event_fd(struct mlx5dv_devx_event_channel *event_channel, int fd,
					struct mlx5dv_devx_obj *obj, uint16_t event_num);
/* Bytes read, or -1 with errno. */
ssize_t mlx5dv_devx_get_event(struct mlx5dv_devx_event_channel *event_channel,
			      struct mlx5dv_devx_async_event_hdr *event_data,
			      size_t event_resp_len);

/* Event queues */

int mlx5dv_devx_query_eqn(struct ibv_context *context, uint32_t vector, uint32_t *eqn);

struct mlx5dv_devx_msi_vector {
	int vector;
	int fd;
};

struct mlx5dv_devx_msi_vector *mlx5dv_devx_alloc_msi_vector(struct ibv_context *ibctx);
int mlx5dv_devx_free_msi_vector(struct mlx5dv_devx_msi_vector *msi);

struct mlx5dv_devx_eq {
	void *vaddr;
};

struct mlx5dv_devx_eq *mlx5dv_devx_create_eq(struct ibv_context *ibctx, const void *in,
					     size_t inlen, void *out, size_t outlen);
int mlx5dv_devx_destroy_eq(struct mlx5dv_devx_eq *eq);

/*
 * Mailbox access. The program brings layouts as struct mlx5_ifc_<typ>_bits in which a member's
 * sizeof is its width in bits and its offset its place in bits, counted from the most significant
 * bit of each big-endian word. Mailboxes are aligned to what is read from them: four bytes, or
 * eight for the 64-bit calls. A field does not cross a 32-bit word.
 */
#define __devx_nullp(typ)        ((struct mlx5_ifc_##typ##_bits *)NULL)
#define __devx_st_sz_bits(typ)   sizeof(struct mlx5_ifc_##typ##_bits)
#define __devx_bit_sz(typ, fld)  sizeof(__devx_nullp(typ)->fld)
#define __devx_bit_off(typ, fld) offsetof(struct mlx5_ifc_##typ##_bits, fld)
#define __devx_dw_off(bit_off)   ((bit_off) / 32)
#define __devx_64_off(bit_off)   ((bit_off) / 64)
/* How far a field's last bit is from the end of its word. */
#define __devx_dw_bit_off(bit_sz, bit_off) (32 - (bit_off) % 32 - (bit_sz))
#define __devx_mask(bit_sz)                ((uint32_t)((UINT64_C(1) << (bit_sz)) - 1))

#define __devx_dw_mask(bit_sz, bit_off) (__devx_mask(bit_sz) << __devx_dw_bit_off(bit_sz, bit_off))

#define DEVX_ST_SZ_BYTES(typ)       (__devx_st_sz_bits(typ) / 8)
#define DEVX_ST_SZ_DW(typ)          (__devx_st_sz_bits(typ) / 32)
#define DEVX_ST_SZ_QW(typ)          (__devx_st_sz_bits(typ) / 64)
#define DEVX_UN_SZ_BYTES(typ)       (sizeof(union mlx5_ifc_##typ##_bits) / 8)
#define DEVX_UN_SZ_DW(typ)          (sizeof(union mlx5_ifc_##typ##_bits) / 32)
#define DEVX_FLD_SZ_BYTES(typ, fld) (__devx_bit_sz(typ, fld) / 8)
#define DEVX_BYTE_OFF(typ, fld)     (__devx_bit_off(typ, fld) / 8)
#define DEVX_ADDR_OF(typ, p, fld)   (DEVX_BYTE_OFF(typ, fld) + (unsigned char *)(p))

static inline uint32_t _devx_get(const void *p, size_t bit_off, size_t bit_sz)
{
	const __be32 *words = (const __be32 *)p;
	const uint32_t word = be32toh(words[__devx_dw_off(bit_off)]);

	return (word & __devx_dw_mask(bit_sz, bit_off)) >> __devx_dw_bit_off(bit_sz, bit_off);
}

static inline void _devx_set(void *p, uint32_t value, size_t bit_off, size_t bit_sz)
{
	__be32 *at = (__be32 *)p + __devx_dw_off(bit_off);
	const uint32_t field = __devx_dw_mask(bit_sz, bit_off);
	uint32_t word = be32toh(*at);

	word ^= (word ^ (value << __devx_dw_bit_off(bit_sz, bit_off))) & field;
	*at = htobe32(word);
}

static inline uint64_t _devx_get64(const void *p, size_t bit_off)
{
	const __be64 *words = (const __be64 *)p;

	return be64toh(words[__devx_64_off(bit_off)]);
}

static inline void _devx_set64(void *p, uint64_t v, size_t bit_off)
{
	__be64 *words = (__be64 *)p;

	words[__devx_64_off(bit_off)] = htobe64(v);
}

#define DEVX_GET(typ, p, fld) _devx_get(p, __devx_bit_off(typ, fld), __devx_bit_sz(typ, fld))

#define DEVX_SET(typ, p, fld, v) _devx_set(p, v, __devx_bit_off(typ, fld), __devx_bit_sz(typ, fld))

#define DEVX_GET64(typ, p, fld)    _devx_get64(p, __devx_bit_off(typ, fld))
#define DEVX_SET64(typ, p, fld, v) _devx_set64(p, v, __devx_bit_off(typ, fld))
#define DEVX_ARRAY_SET64(typ, p, fld, idx, v)                                                      \
	do {                                                                                       \
		DEVX_SET64(typ, p, fld[idx], v);                                                   \
	} while (0)

#ifdef __cplusplus
}
#endif

#endif
