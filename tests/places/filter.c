/* SPDX-License-Identifier: BSD-2-Clause */
/* A list of numbers that fail, then rules on arguments. Later filters of a process add to earlier ones. */
#include "filter.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#define LOAD(field)   BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define RETURN(value) BPF_STMT(BPF_RET | BPF_K, (value))
#define REFUSE(error) RETURN(SECCOMP_RET_ERRNO | (error))
#define IS(value, n)  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), 0, (n))
#define HAS(bits, n)  BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, (bits), 0, (n))
#define RULES(r)      install((r), sizeof(r) / sizeof((r)[0]))

#define NAMESPACES                                                                                 \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER |             \
	 CLONE_NEWPID | CLONE_NEWNET)

static bool install(const struct sock_filter *code, size_t count)
{
	struct sock_fprog program = { .len = (unsigned short)count,
				      .filter = (struct sock_filter *)code };

	return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
	       !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static bool refuse(const uint32_t *calls, size_t count, uint32_t error)
{
	struct sock_filter code[256];
	size_t n = 0;

	code[n++] = (struct sock_filter)LOAD(nr);
	for (size_t i = 0; i < count; i++) {
		code[n++] = (struct sock_filter)IS(calls[i], 1);
		code[n++] = (struct sock_filter)REFUSE(error);
	}
	code[n++] = (struct sock_filter)RETURN(SECCOMP_RET_ALLOW);
	return install(code, n);
}

#define REFUSE_ALL(list, error) refuse((list), sizeof(list) / sizeof((list)[0]), (error))

bool filter_userfaultfd(void)
{
	static const uint32_t calls[] = { SYS_userfaultfd };

	return REFUSE_ALL(calls, EPERM);
}

/* clone() with flags of namespaces, and clone3(), whose flags a filter cannot see. */
static bool refuse_namespaces(void)
{
	const struct sock_filter code[] = {
		LOAD(nr),      IS(SYS_clone, 3),  LOAD(args[0]),  HAS(NAMESPACES, 3),
		REFUSE(EPERM), IS(SYS_clone3, 1), REFUSE(ENOSYS), RETURN(SECCOMP_RET_ALLOW),
	};

	return RULES(code);
}

bool filter_docker(void)
{
	static const uint32_t calls[] = {
		SYS_acct,
		SYS_add_key,
		SYS_bpf,
		SYS_clock_adjtime,
		SYS_clock_settime,
		SYS_delete_module,
		SYS_fanotify_init,
		SYS_finit_module,
		SYS_get_mempolicy,
		SYS_init_module,
		SYS_io_uring_setup,
		SYS_io_uring_enter,
		SYS_io_uring_register,
		SYS_kexec_load,
		SYS_keyctl,
		SYS_lookup_dcookie,
		SYS_mbind,
		SYS_mount,
		SYS_move_pages,
		SYS_migrate_pages,
		SYS_name_to_handle_at,
		SYS_open_by_handle_at,
		SYS_perf_event_open,
		SYS_pivot_root,
		SYS_quotactl,
		SYS_reboot,
		SYS_request_key,
		SYS_set_mempolicy,
		SYS_setns,
		SYS_settimeofday,
		SYS_sethostname,
		SYS_setdomainname,
		SYS_swapoff,
		SYS_swapon,
		SYS_syslog,
		SYS_umount2,
		SYS_unshare,
		SYS_userfaultfd,
		SYS_vhangup,
		SYS_chroot,
		SYS_fsopen,
		SYS_fsmount,
		SYS_fsconfig,
		SYS_fspick,
		SYS_move_mount,
		SYS_open_tree,
		SYS_mount_setattr,
		/* with kernels before 4.8, and with engines that have kept it so */
		SYS_process_vm_readv,
		SYS_process_vm_writev,
		SYS_ptrace,
		SYS_kcmp,
	};

	return refuse_namespaces() && REFUSE_ALL(calls, EPERM);
}

/* Families of sockets that are not in the list do not exist. */
bool filter_families(void)
{
	const struct sock_filter code[] = {
		LOAD(nr),
		IS(SYS_socket, 5),
		LOAD(args[0]),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_UNIX, 3, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_INET, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_INET6, 1, 0),
		REFUSE(EAFNOSUPPORT),
		RETURN(SECCOMP_RET_ALLOW),
	};

	return RULES(code);
}

static bool refuse_write_and_execute(void)
{
	const struct sock_filter code[] = {
		LOAD(nr),
		IS(SYS_mmap, 5),
		LOAD(args[2]),
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, PROT_WRITE | PROT_EXEC),
		IS(PROT_WRITE | PROT_EXEC, 1),
		REFUSE(EPERM),
		RETURN(SECCOMP_RET_ALLOW),
		IS(SYS_mprotect, 3),
		LOAD(args[2]),
		HAS(PROT_EXEC, 1),
		REFUSE(EPERM),
		RETURN(SECCOMP_RET_ALLOW),
	};

	return RULES(code);
}

bool filter_service(void)
{
	static const uint32_t calls[] = {
		SYS_acct,
		SYS_bpf,
		SYS_clock_adjtime,
		SYS_clock_settime,
		SYS_delete_module,
		SYS_fanotify_init,
		SYS_finit_module,
		SYS_init_module,
		SYS_kexec_load,
		SYS_lookup_dcookie,
		SYS_mount,
		SYS_umount2,
		SYS_name_to_handle_at,
		SYS_open_by_handle_at,
		SYS_perf_event_open,
		SYS_pidfd_getfd,
		SYS_pivot_root,
		SYS_ptrace,
		SYS_quotactl,
		SYS_reboot,
		SYS_settimeofday,
		SYS_swapoff,
		SYS_swapon,
		SYS_syslog,
		SYS_userfaultfd,
		SYS_vhangup,
		SYS_chroot,
		SYS_fsopen,
		SYS_fsmount,
		SYS_move_mount,
		SYS_open_tree,
		SYS_kcmp,
		SYS_unshare,
		SYS_setns,
		SYS_io_uring_setup,
		SYS_pkey_mprotect,
	};

	return refuse_namespaces() && refuse_write_and_execute() && REFUSE_ALL(calls, EPERM);
}
