/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ioctl() on devices of the tree. Descriptors are looked at only for requests of these devices' kinds.
 */
#include <errno.h>
#include <linux/ptp_clock.h>
#include <rdma/ib_user_mad.h>
#include <stdarg.h>
#include <sys/ioctl.h>

#include "next.h"
#include "phc.h"
#include "umad.h"

FACADE_API int ioctl(int fd, unsigned long request, ...)
{
	va_list ap;
	void *arg;
	int err;

	va_start(ap, request);
	arg = va_arg(ap, void *);
	va_end(ap);
	if (_IOC_TYPE(request) == PTP_CLK_MAGIC && phc_is(fd))
		err = arg ? phc_ioctl(request, arg) : -EFAULT;
	else if (_IOC_TYPE(request) == RDMA_IOCTL_MAGIC && umad_is(fd))
		err = umad_ioctl(fd, request, arg);
	else
		return NEXT(ioctl)(fd, request, arg);
	if (err)
		errno = -err;
	return err ? -1 : 0;
}
