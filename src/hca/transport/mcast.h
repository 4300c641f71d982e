/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HCA_MCAST_H
#define HCA_MCAST_H

#include "hca/transport/hca_qp.h"

VB_API int hca_qp_attach_mcast(struct hca_qp *qp, const struct hca_gid *gid, uint16_t lid);
VB_API int hca_qp_detach_mcast(struct hca_qp *qp, const struct hca_gid *gid, uint16_t lid);

#endif
