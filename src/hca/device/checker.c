/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/device/checker.h"

#include "hca/hca.h"

void hca_checker_set(const struct hca_checker *checker)
{
	hca.checker = checker;
}
