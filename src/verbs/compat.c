/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Symbols that libibverbs.so.1 exports for old binaries: the calls of the 1.0 ABI, and two helpers for
 * reading sysfs. No lock.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/stub.h"

/*
 * A program of the 1.0 ABI gets no device list, hence no object for the other calls, which take structs
 * that only that ABI had.
 */
OLD_PTR(ibv_get_device_list, "IBVERBS_1.0")
OLD_VOID(ibv_free_device_list, "IBVERBS_1.0")
OLD_PTR(ibv_get_device_name, "IBVERBS_1.0")
OLD_ZERO(ibv_get_device_guid, "IBVERBS_1.0")
OLD_PTR(ibv_open_device, "IBVERBS_1.0")
OLD_MINUS1(ibv_close_device, "IBVERBS_1.0")
OLD_MINUS1(ibv_get_async_event, "IBVERBS_1.0")
OLD_VOID(ibv_ack_async_event, "IBVERBS_1.0")
OLD_ERRNO(ibv_query_device, "IBVERBS_1.0")
OLD_ERRNO(ibv_query_port, "IBVERBS_1.0")
OLD_MINUS1(ibv_query_gid, "IBVERBS_1.0")
OLD_MINUS1(ibv_query_pkey, "IBVERBS_1.0")
OLD_PTR(ibv_alloc_pd, "IBVERBS_1.0")
OLD_ERRNO(ibv_dealloc_pd, "IBVERBS_1.0")
OLD_PTR(ibv_reg_mr, "IBVERBS_1.0")
OLD_ERRNO(ibv_dereg_mr, "IBVERBS_1.0")
OLD_PTR(ibv_create_cq, "IBVERBS_1.0")
OLD_ERRNO(ibv_resize_cq, "IBVERBS_1.0")
OLD_ERRNO(ibv_destroy_cq, "IBVERBS_1.0")
OLD_MINUS1(ibv_get_cq_event, "IBVERBS_1.0")
OLD_VOID(ibv_ack_cq_events, "IBVERBS_1.0")
OLD_PTR(ibv_create_srq, "IBVERBS_1.0")
OLD_ERRNO(ibv_modify_srq, "IBVERBS_1.0")
OLD_ERRNO(ibv_query_srq, "IBVERBS_1.0")
OLD_ERRNO(ibv_destroy_srq, "IBVERBS_1.0")
OLD_PTR(ibv_create_qp, "IBVERBS_1.0")
OLD_ERRNO(ibv_query_qp, "IBVERBS_1.0")
OLD_ERRNO(ibv_modify_qp, "IBVERBS_1.0")
OLD_ERRNO(ibv_destroy_qp, "IBVERBS_1.0")
OLD_PTR(ibv_create_ah, "IBVERBS_1.0")
OLD_ERRNO(ibv_destroy_ah, "IBVERBS_1.0")
OLD_ERRNO(ibv_attach_mcast, "IBVERBS_1.0")
OLD_ERRNO(ibv_detach_mcast, "IBVERBS_1.0")

/* Registration of drivers of the 1.1 ABI, later private; a driver built now cannot link it. */
OLD_VOID(ibv_register_driver, "IBVERBS_1.1")
__asm__(".symver old_ibv_register_driver,ibv_register_driver@IBVERBS_PRIVATE_13");
__asm__(".symver old_ibv_register_driver,ibv_register_driver@IBVERBS_PRIVATE_14");
__asm__(".symver old_ibv_register_driver,ibv_register_driver@IBVERBS_PRIVATE_15");
__asm__(".symver old_ibv_register_driver,ibv_register_driver@IBVERBS_PRIVATE_16");
__asm__(".symver old_ibv_register_driver,ibv_register_driver@IBVERBS_PRIVATE_17");
__asm__(".symver old_ibv_register_driver,ibv_register_driver@IBVERBS_PRIVATE_18");
__asm__(".symver old_ibv_register_driver,ibv_register_driver@IBVERBS_PRIVATE_19");
__asm__(".symver old_ibv_register_driver,ibv_register_driver@IBVERBS_PRIVATE_20");
__asm__(".symver old_ibv_register_driver,ibv_register_driver@IBVERBS_PRIVATE_21");

VB_API const char *ibv_get_sysfs_path(void);
const char *ibv_get_sysfs_path(void)
{
	const char *path = secure_getenv("SYSFS_PATH");

	return path && *path ? path : "/sys";
}

/* The contents of dir/file without the final newline; how long they are, or -1 and errno. */
VB_API int ibv_read_sysfs_file(const char *dir, const char *file, char *buf, size_t size);
int ibv_read_sysfs_file(const char *dir, const char *file, char *buf, size_t size)
{
	char path[PATH_MAX];
	ssize_t len;
	int saved;
	int fd;

	if (!size || snprintf(path, sizeof(path), "%s/%s", dir, file) >= (int)sizeof(path)) {
		errno = size ? ENAMETOOLONG : EINVAL;
		return -1;
	}
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	len = read(fd, buf, size - 1);
	saved = errno;
	close(fd);
	errno = saved;
	if (len < 0)
		return -1;
	if (len > 0 && buf[len - 1] == '\n')
		len--;
	buf[len] = '\0';
	return (int)len;
}
