/* SPDX-License-Identifier: BSD-2-Clause */
/* Access rights of regions, windows and queue pairs; bits as enum ibv_access_flags has them. */
#ifndef HCA_ACCESS_H
#define HCA_ACCESS_H

enum hca_access {
	HCA_ACCESS_LOCAL_WRITE = 1 << 0,
	HCA_ACCESS_REMOTE_WRITE = 1 << 1,
	HCA_ACCESS_REMOTE_READ = 1 << 2,
	HCA_ACCESS_REMOTE_ATOMIC = 1 << 3,
	HCA_ACCESS_MW_BIND = 1 << 4,
	HCA_ACCESS_ZERO_BASED = 1 << 5,
	HCA_ACCESS_ON_DEMAND = 1 << 6,
	HCA_ACCESS_HUGETLB = 1 << 7,
	HCA_ACCESS_FLUSH_GLOBAL = 1 << 8,
	HCA_ACCESS_FLUSH_PERSISTENT = 1 << 9,
	HCA_ACCESS_FLUSH = HCA_ACCESS_FLUSH_GLOBAL | HCA_ACCESS_FLUSH_PERSISTENT,
	HCA_ACCESS_RELAXED = 1 << 20,
};

#endif
