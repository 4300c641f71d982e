/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A memory key maps the pages of a umem, or pieces of other keys' memory, of any length (KLM) or of
 * one length (KSM). A key of the latter kinds may also be created free, for UMR WQEs to fill.
 */
#include "mlx5/devx_mkey.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hca/memory/mkey.h"
#include "mlx5/devx_cmd.h"
#include "mlx5/devx_mem.h"
#include "mlx5/devx_obj.h"

#define ENTRY       16u /* bytes of a KLM entry in the mailbox */
#define PIECES_MOST UINT16_MAX

static uint32_t mkc_access(const void *mkc)
{
	uint32_t access = 0;

	if (ifc_get(mkc, mkc, lw))
		access |= HCA_ACCESS_LOCAL_WRITE;
	if (ifc_get(mkc, mkc, rw))
		access |= HCA_ACCESS_REMOTE_WRITE;
	if (ifc_get(mkc, mkc, rr))
		access |= HCA_ACCESS_REMOTE_READ;
	if (ifc_get(mkc, mkc, a))
		access |= HCA_ACCESS_REMOTE_ATOMIC;
	/* The device permits remote write without local write; regions of the adapter do not. */
	if (access & (HCA_ACCESS_REMOTE_WRITE | HCA_ACCESS_REMOTE_ATOMIC))
		access |= HCA_ACCESS_LOCAL_WRITE;
	return access;
}

static int create_on_umem(struct devx_cmd *c, struct hca_pd *pd, const void *mkc)
{
	uint64_t start = ifc_get(mkc, mkc, start_addr), len = ifc_get(mkc, mkc, len);
	struct devx_ring at = {
		.id = ifc_get(c->in, create_mkey_in, mkey_umem_id),
		.offset = ifc_get(c->in, create_mkey_in, mkey_umem_offset),
		.valid = ifc_get(c->in, create_mkey_in, mkey_umem_valid),
		.bytes = len,
		.align = 1,
		.what = "memory of the key",
	};
	void *addr;
	int err = devx_umem_at(c, 0, &at, &addr);

	if (err)
		return err;
	err = hca_mr_create(pd, addr, len, start, mkc_access(mkc), &c->obj->mr);
	return devx_refuse_errno(c, err, DEVX_WHY_FIELD);
}

/* ---- pieces ---- */

/* Pieces of one length, 2^log_page_size, or each with its own. */
static int read_pieces(struct devx_cmd *c, const void *mkc, bool fixed, struct hca_sge *out,
		       uint32_t *count)
{
	const uint8_t *at = ifc_cptr(c->in, create_mkey_in, klm_pas_mtt);
	unsigned int log = ifc_get(mkc, mkc, log_page_size);
	uint64_t want = ifc_get(mkc, mkc, len), sum = 0;

	for (uint32_t i = 0; i < *count; i++, at += ENTRY) {
		out[i] = (struct hca_sge){
			.len = fixed ? 1u << log : (uint32_t)ifc_get(at, klm, byte_count),
			.key = ifc_get(at, klm, mkey),
			.addr = ifc_get(at, klm, address),
		};
		sum += out[i].len;
	}
	/* The list is padded with empty entries. */
	while (*count && !out[*count - 1].key)
		sum -= out[--*count].len;
	if (want > sum)
		return devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_SIZE,
				   "a key of 0x%llx bytes, whose pieces have 0x%llx",
				   (unsigned long long)want, (unsigned long long)sum);
	return 0;
}

static void allow_transforms(struct hca_mkey *mkey, const void *mkc)
{
	mkey->may_transform = mkey->transforms = ifc_get(mkc, mkc, bsf_en);
	mkey->encrypts = ifc_get(mkc, mkc, crypto_en);
}

static int create_on_keys(struct devx_cmd *c, struct hca_pd *pd, const void *mkc, bool fixed)
{
	uint32_t room = ifc_get(mkc, mkc, translations_octword_size);
	uint32_t count = ifc_get(c->in, create_mkey_in, translations_octword_actual_size);
	struct hca_umr what = {
		.free = ifc_get(mkc, mkc, free),
		.tag = ifc_get(mkc, mkc, mkey_7_0),
		.access = mkc_access(mkc),
		.start = ifc_get(mkc, mkc, start_addr),
		.length = ifc_get(mkc, mkc, len),
	};
	struct hca_sge *list;
	int err;

	if (count > room || !room || room > PIECES_MOST ||
	    (fixed && ifc_get(mkc, mkc, log_page_size) > 31))
		return devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_SIZE,
				   "%u pieces in room for %u (1 to %u)", count, room, PIECES_MOST);
	if (ifc_byte(create_mkey_in, klm_pas_mtt) + (uint64_t)count * ENTRY > c->inlen)
		return devx_refuse(c, IFC_STATUS_BAD_INPUT_LEN, DEVX_WHY_SIZE,
				   "%u pieces are more than the mailbox holds", count);
	if (!count && !what.free && what.length)
		return devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_FIELD,
				   "a key of 0x%llx bytes without pieces, which is not free",
				   (unsigned long long)what.length);
	list = calloc(count + 1, sizeof(*list));
	if (!list)
		return devx_refuse_errno(c, -ENOMEM, DEVX_WHY_MEMORY);
	err = count ? read_pieces(c, mkc, fixed, list, &count) : 0;
	if (!err)
		err = devx_refuse_errno(
			c, hca_mkey_create(pd, room, ifc_get(mkc, mkc, en_rinval), &c->obj->mkey),
			DEVX_WHY_MEMORY);
	if (!err) {
		allow_transforms(c->obj->mkey, mkc);
		err = devx_refuse_errno(c, hca_mkey_build(c->obj->mkey, &what, list, count),
					DEVX_WHY_FIELD);
	}
	c->obj->indirect = c->obj->mkey;
	free(list);
	return err;
}

static int create_direct(struct devx_cmd *c, struct hca_pd *pd, const void *mkc)
{
	int err = create_on_umem(c, pd, mkc);

	if (!err)
		hca_mr_set_variant(c->obj->mr, ifc_get(mkc, mkc, mkey_7_0));
	return err;
}

int devx_create_mkey(struct devx_cmd *c)
{
	const void *mkc = ifc_cptr(c->in, create_mkey_in, memory_key_mkey_entry);
	unsigned int mode =
		ifc_get(mkc, mkc, access_mode_4_2) << 2 | ifc_get(mkc, mkc, access_mode_1_0);
	uint32_t pdn = ifc_get(mkc, mkc, pd);
	struct hca_pd *pd;
	int err;

	if (mode != IFC_MKC_MTT && mode != IFC_MKC_KLMS && mode != IFC_MKC_KSM)
		return devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_TYPE,
				   "access mode %u; %u (pages of a umem), %u and %u (pieces of "
				   "other keys) are offered",
				   mode, IFC_MKC_MTT, IFC_MKC_KLMS, IFC_MKC_KSM);
	if (ifc_get(mkc, mkc, crypto_en) && !c->adapter->model->crypto)
		return devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_OFFERED,
				   "crypto_en; a %s does not encrypt", c->adapter->model->name);
	pd = devx_hold_pd(c, pdn);
	if (!pd)
		return devx_refuse(c, IFC_STATUS_BAD_RES, DEVX_WHY_PD,
				   "protection domain 0x%x does not exist", pdn);
	err = mode == IFC_MKC_MTT ? create_direct(c, pd, mkc)
				  : create_on_keys(c, pd, mkc, mode == IFC_MKC_KSM);
	hca_pd_put(pd);
	if (!err)
		err = devx_keep(c, mkc, ifc_len(mkc));
	if (err)
		return err;
	c->obj->number = c->obj->indirect ? c->obj->mkey->index : c->obj->mr->index;
	ifc_set(c->out, create_mkey_out, mkey_index, c->obj->number);
	return 0;
}

int devx_query_mkey(struct devx_cmd *c)
{
	memcpy(ifc_ptr(c->out, query_mkey_out, memory_key_mkey_entry), c->obj->image,
	       c->obj->image_len);
	return 0;
}
