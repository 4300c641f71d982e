/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What libibverbs.so.1 exports for the dynamic linker's sake: the calls of the 1.0 ABI, the door
 * through which foreign drivers announce themselves, and two helpers from the time when programs
 * read sysfs through the library. No state, no lock.
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
 * A program of the 1.0 ABI gets no device list, hence no object it could hand to the others. All
 * of these take or return structs that ended with that ABI.
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

/* Drivers of the 1.1 time registered themselves by this call; a driver built now cannot link it. */
OLD_VOID(ibv_register_driver, "IBVERBS_1.1")

/*
 * Debian's drivers announce themselves from a constructor. Only our own drivers serve our
 * adapters, so the announcement is taken and forgotten, without a word: it is no refusal.
 */
VB_API void verbs_register_driver_34(const void *ops);
void verbs_register_driver_34(const void *ops)
{
}

/* Foreign drivers read this flag; nothing of ours is ever taken away under a program's feet. */
extern VB_API bool verbs_allow_disassociate_destroy;
bool verbs_allow_disassociate_destroy;

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
