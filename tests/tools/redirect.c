/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a program sees through the preload library. Runs under `verbena run` with the default
 * adapters; every test is an ordinary program's way to look for an adapter, or a way to ask for
 * something else that must stay as it is.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define CLASS  "/sys/class/infiniband"
#define DEVICE CLASS "/mlx5_0"
#define SLOT   "0000:a0:00.0"
#define PCI    "/sys/devices/pci0000:a0/" SLOT
#define GUID   DEVICE "/node_guid"

static void read_fd(int fd, char *out, size_t size)
{
	ssize_t n;

	assert_true(fd >= 0);
	n = read(fd, out, size - 1);
	assert_true(n > 0);
	out[n] = '\0';
	out[strcspn(out, "\n")] = '\0';
	close(fd);
}

static void read_path(const char *path, char *out, size_t size)
{
	read_fd(open(path, O_RDONLY), out, size);
}

static void assert_file(const char *path, const char *expected)
{
	char text[256];

	read_path(path, text, sizeof(text));
	assert_string_equal(text, expected);
}

static void every_way_to_open_a_file_finds_it(void **state)
{
	FILE *(*const openers[])(const char *, const char *) = { fopen, fopen64 };
	char first[64], again[64];
	FILE *f;
	size_t i;

	read_path(GUID, first, sizeof(first));
	assert_int_equal(strlen(first), 19);
	read_fd(open64(GUID, O_RDONLY), again, sizeof(again));
	assert_string_equal(again, first);
	read_fd(openat(AT_FDCWD, GUID, O_RDONLY), again, sizeof(again));
	assert_string_equal(again, first);
	read_fd(openat64(-1, GUID, O_RDONLY), again, sizeof(again));
	assert_string_equal(again, first);
	for (i = 0; i < 2; i++) {
		f = openers[i](GUID, "r");
		assert_non_null(f);
		assert_non_null(fgets(again, sizeof(again), f));
		again[strcspn(again, "\n")] = '\0';
		assert_string_equal(again, first);
		f = freopen(DEVICE "/node_type", "r", f);
		assert_non_null(f);
		assert_non_null(fgets(again, sizeof(again), f));
		assert_string_equal(again, "1: CA\n");
		fclose(f);
	}
}

static void fortified_programs_find_it_too(void **state)
{
	int (*open_2)(const char *, int) =
		(int (*)(const char *, int))dlsym(RTLD_DEFAULT, "__open_2");
	char *(*realpath_chk)(const char *, char *, size_t) =
		(char *(*)(const char *, char *, size_t))dlsym(RTLD_DEFAULT, "__realpath_chk");
	char text[64], path[PATH_MAX];

	read_fd(open_2(GUID, O_RDONLY), text, sizeof(text));
	assert_int_equal(strlen(text), 19);
	assert_non_null(realpath_chk(DEVICE, path, sizeof(path)));
	assert_string_equal(path, PCI "/infiniband/mlx5_0");
}

static void programs_from_before_glibc_2_33_find_it_too(void **state)
{
	int (*xstat)(int, const char *, struct stat *) =
		(int (*)(int, const char *, struct stat *))dlsym(RTLD_DEFAULT, "__xstat");
	struct stat st;

	assert_int_equal(xstat(1, "/dev/infiniband/uverbs0", &st), 0);
	assert_true(S_ISCHR(st.st_mode));
}

static void device_files_are_character_devices_that_open_for_reading_and_writing(void **state)
{
	static const char *const files[] = { "/dev/infiniband/uverbs0", "/dev/infiniband/uverbs1",
					     "/dev/infiniband/rdma_cm" };
	struct statx stx;
	struct stat st;
	size_t i;
	int fd;

	for (i = 0; i < 3; i++) {
		assert_int_equal(stat(files[i], &st), 0);
		assert_true(S_ISCHR(st.st_mode));
		assert_int_equal(fstatat(AT_FDCWD, files[i], &st, 0), 0);
		assert_true(S_ISCHR(st.st_mode));
		assert_int_equal(statx(AT_FDCWD, files[i], 0, STATX_TYPE, &stx), 0);
		assert_true(S_ISCHR(stx.stx_mode));
		assert_int_equal(access(files[i], R_OK | W_OK), 0);
		assert_int_equal(faccessat(AT_FDCWD, files[i], R_OK | W_OK, 0), 0);
		assert_int_equal(euidaccess(files[i], R_OK | W_OK), 0);
		fd = open(files[i], O_RDWR | O_CLOEXEC);
		assert_true(fd >= 0);
		close(fd);
	}
	assert_int_equal(stat("/dev/infiniband/uverbs9", &st), -1);
	assert_int_equal(errno, ENOENT);
}

static bool lists(const char *dir, const char *name)
{
	struct dirent *entry;
	bool found = false;
	DIR *d = opendir(dir);

	assert_non_null(d);
	while ((entry = readdir(d)))
		found |= !strcmp(entry->d_name, name);
	closedir(d);
	return found;
}

static void directories_list_both_adapters(void **state)
{
	struct dirent **names;
	int n;

	assert_true(lists(CLASS, "mlx5_0"));
	assert_true(lists(CLASS, "mlx4_0"));
	assert_true(lists("/sys/class/infiniband_verbs", "uverbs1"));
	assert_true(lists("/dev/infiniband", "uverbs0"));
	n = scandir(CLASS, &names, NULL, alphasort);
	assert_int_equal(n, 4);
	assert_string_equal(names[2]->d_name, "mlx4_0");
	assert_string_equal(names[3]->d_name, "mlx5_0");
	while (n--)
		free(names[n]);
	free(names);
}

static void glob_expands_redirected_names(void **state)
{
	glob_t g;

	assert_int_equal(glob(CLASS "/mlx*/ports/1/state", 0, NULL, &g), 0);
	assert_int_equal(g.gl_pathc, 2);
	assert_string_equal(g.gl_pathv[0], CLASS "/mlx4_0/ports/1/state");
	assert_string_equal(g.gl_pathv[1], DEVICE "/ports/1/state");
	globfree(&g);
	assert_int_equal(glob("/etc/passw?", 0, NULL, &g), 0);
	assert_int_equal(g.gl_pathc, 1);
	globfree(&g);
	assert_int_equal(glob(CLASS "/nothing*", 0, NULL, &g), GLOB_NOMATCH);
}

/* UCX: the directory two levels above the resolved device is the PCI function. */
static void a_device_resolves_to_its_pci_function(void **state)
{
	char path[PATH_MAX];
	char *real = realpath(DEVICE, NULL);

	assert_non_null(real);
	assert_string_equal(real, PCI "/infiniband/mlx5_0");
	*strrchr(real, '/') = '\0';
	*strrchr(real, '/') = '\0';
	snprintf(path, sizeof(path), "%s/vendor", real);
	assert_file(path, "0x15b3");
	snprintf(path, sizeof(path), "%s/device", real);
	assert_file(path, "0x1021");
	free(real);

	assert_non_null(realpath(DEVICE "/device", path));
	assert_string_equal(path, PCI);
	real = canonicalize_file_name("/sys/bus/pci/devices/" SLOT);
	assert_string_equal(real, PCI);
	free(real);
	assert_non_null(realpath(DEVICE "/device/driver", path));
	assert_string_equal(path, "/sys/bus/pci/drivers/mlx5_core");
	assert_non_null(realpath(DEVICE "/device/driver/" SLOT "/infiniband_verbs/uverbs0", path));
	assert_string_equal(path, PCI "/infiniband_verbs/uverbs0");
}

static void links_read_as_the_kernel_would_write_them(void **state)
{
	char text[PATH_MAX];
	ssize_t n = readlink(DEVICE, text, sizeof(text) - 1);

	assert_true(n > 0);
	text[n] = '\0';
	assert_string_equal(text, "../../devices/pci0000:a0/" SLOT "/infiniband/mlx5_0");
	assert_int_equal(readlink(DEVICE, text, 5), 5);
	assert_memory_equal(text, "../..", 5);
	n = readlinkat(AT_FDCWD, DEVICE "/device", text, sizeof(text) - 1);
	assert_true(n > 0);
	text[n] = '\0';
	assert_string_equal(text, "../../../" SLOT);
	assert_int_equal(readlink(GUID, text, sizeof(text)), -1);
	assert_int_equal(errno, EINVAL);
}

static void the_working_directory_keeps_its_known_name(void **state)
{
	char cwd[PATH_MAX], small[8], *name;

	assert_int_equal(chdir(DEVICE), 0);
	assert_non_null(getcwd(cwd, sizeof(cwd)));
	assert_string_equal(cwd, PCI "/infiniband/mlx5_0");
	name = getcwd(NULL, 0);
	assert_string_equal(name, cwd);
	free(name);
	name = realpath(".", NULL);
	assert_string_equal(name, cwd);
	free(name);
	assert_null(getcwd(small, sizeof(small)));
	assert_int_equal(errno, ERANGE);
	assert_non_null(getcwd(cwd, strlen(cwd) + 1));
	assert_file("node_type", "1: CA");
	assert_file("../../vendor", "0x15b3");
	assert_int_equal(chdir("/"), 0);
	assert_non_null(getcwd(cwd, sizeof(cwd)));
	assert_string_equal(cwd, "/");
}

static void relative_names_from_directories_above_are_redirected(void **state)
{
	struct stat st;

	assert_int_equal(chdir("/"), 0);
	assert_file("sys/class/infiniband/mlx5_0/node_type", "1: CA");
	assert_int_equal(chdir("/sys/class"), 0);
	assert_file("infiniband/mlx5_0/node_type", "1: CA");
	assert_file("./infiniband/mlx5_0/node_type", "1: CA");
	assert_int_equal(chdir("/sys/class/net"), 0);
	assert_file("../infiniband/mlx5_0/node_type", "1: CA");
	assert_file("../../class/infiniband/mlx5_0/node_type", "1: CA");
	assert_int_equal(chdir("/dev"), 0);
	assert_int_equal(stat("infiniband/uverbs0", &st), 0);
	assert_int_equal(chdir("/"), 0);
}

/* hwloc opens "/" once and asks for everything relative to it. */
static void names_relative_to_an_open_directory_are_redirected(void **state)
{
	int root = open("/", O_RDONLY | O_DIRECTORY);
	int class = open(CLASS, O_RDONLY | O_DIRECTORY);
	char text[64];
	struct stat st;

	read_fd(openat(root, "sys/class/infiniband/mlx5_0/node_type", O_RDONLY), text,
		sizeof(text));
	assert_string_equal(text, "1: CA");
	read_fd(openat(class, "mlx5_0/node_type", O_RDONLY), text, sizeof(text));
	assert_string_equal(text, "1: CA");
	assert_int_equal(fstatat(root, "dev/infiniband/uverbs0", &st, 0), 0);
	assert_int_equal(faccessat(root, "sys/bus/pci/devices/" SLOT "/config", R_OK, 0), 0);
	close(class);
	close(root);
}

static void untidy_names_are_understood(void **state)
{
	assert_file("//sys///class/./infiniband//mlx5_0/./node_type", "1: CA");
	assert_file("/./sys/class/infiniband/mlx5_0/../mlx5_0/node_type", "1: CA");
	assert_true(lists(CLASS "/", "mlx5_0"));
	assert_file(DEVICE "/device/../../pci0000:a0/" SLOT "/vendor", "0x15b3");
}

static void names_that_only_begin_alike_are_left_alone(void **state)
{
	static const char *const names[] = {
		"/sys/class/infinibandx", "/sys/class/infiniband_verbsx/abi_version",
		"/dev/infinibandx",       "/sys/bus/pci/devices/0000:a0:00.00",
		"/sys/class/infini",
	};
	struct stat st;
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		errno = 0;
		assert_int_equal(stat(names[i], &st), -1);
		assert_int_equal(errno, ENOENT);
	}
}

static void the_rest_of_the_machine_is_as_it_was(void **state)
{
	char path[PATH_MAX], link[PATH_MAX + 8];
	struct stat st, null;
	int fd;

	assert_int_equal(stat("/dev/null", &null), 0);
	assert_true(S_ISCHR(null.st_mode));
	assert_true(lists("/sys/class", "net"));
	assert_int_equal(stat("/sys/class/net/lo/ifindex", &st), 0);
	assert_non_null(realpath("/sys/class/net/lo", path));
	assert_string_equal(path, "/sys/devices/virtual/net/lo");
	snprintf(path, sizeof(path), "/tmp/verbena-redirect-%d", (int)getpid());
	fd = open(path, O_CREAT | O_EXCL | O_RDWR, 0640);
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_mode & 0777 & ~0027, 0640 & ~0027);
	snprintf(link, sizeof(link), "%s.link", path);
	assert_int_equal(symlink(path, link), 0);
	assert_int_equal(lstat(link, &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	unlink(link);
	unlink(path);
	close(fd);
}

static void failures_have_the_errno_that_the_kernel_gives(void **state)
{
	char text[8];

	assert_int_equal(open(DEVICE "/nothing", O_RDONLY), -1);
	assert_int_equal(errno, ENOENT);
	assert_int_equal(open(GUID "/below", O_RDONLY), -1);
	assert_int_equal(errno, ENOTDIR);
	assert_null(opendir(GUID));
	assert_int_equal(errno, ENOTDIR);
	assert_int_equal(openat(-1, "sys/class/infiniband", O_RDONLY), -1);
	assert_int_equal(errno, EBADF);
	assert_int_equal(access("", F_OK), -1);
	assert_int_equal(errno, ENOENT);
	assert_int_equal(readlink(DEVICE, text, 0), -1);
	assert_int_equal(errno, EINVAL);
}

static void success_leaves_errno_alone(void **state)
{
	struct stat st;

	assert_int_equal(chdir("/"), 0);
	errno = ERANGE;
	assert_int_equal(stat(DEVICE, &st), 0);
	assert_int_equal(stat("sys/class/infiniband", &st), 0);
	/* A directory that cannot be named must not leave a trace either. */
	assert_int_equal(fstatat(9999, "sys", &st, 0), -1);
	assert_int_equal(errno, EBADF);
	errno = ERANGE;
	assert_int_equal(stat("/etc/passwd", &st), 0);
	assert_int_equal(errno, ERANGE);
}

static void too_long_a_name_is_refused(void **state)
{
	char name[PATH_MAX + 100];
	struct stat st;

	memset(name, 'a', sizeof(name));
	memcpy(name, CLASS "/", strlen(CLASS "/"));
	name[sizeof(name) - 1] = '\0';
	assert_int_equal(stat(name, &st), -1);
	assert_int_equal(errno, ENAMETOOLONG);
}

static void real_pci_functions_stay_visible_beside_ours(void **state)
{
	const char *dir = "/sys/bus/pci/devices";
	char path[PATH_MAX];
	struct dirent *entry;
	int ours = 0, all = 0;
	struct stat st;
	DIR *d = opendir(dir);

	assert_non_null(d);
	while ((entry = readdir(d))) {
		if (entry->d_name[0] == '.')
			continue;
		all++;
		ours += !strcmp(entry->d_name, SLOT) || !strcmp(entry->d_name, "0000:a1:00.0");
		snprintf(path, sizeof(path), "%s/%s/vendor", dir, entry->d_name);
		assert_int_equal(stat(path, &st), 0);
		assert_int_equal(faccessat(dirfd(d), entry->d_name, F_OK, 0), 0);
	}
	closedir(d);
	assert_int_equal(ours, 2);
	/* As many as the real machine has, and our two. */
	assert_int_equal(all, atoi(getenv("REAL_PCI_COUNT")) + 2);
}

static void the_bound_interface_is_below_the_pci_function(void **state)
{
	char path[PATH_MAX], name[256] = "", index[64], real[64];
	struct dirent *entry;
	DIR *d = opendir(DEVICE "/device/net");

	assert_non_null(d);
	while ((entry = readdir(d)))
		if (entry->d_name[0] != '.')
			snprintf(name, sizeof(name), "%s", entry->d_name);
	closedir(d);
	assert_true(*name);
	snprintf(path, sizeof(path), DEVICE "/device/net/%s/dev_port", name);
	assert_file(path, "0");
	snprintf(path, sizeof(path), DEVICE "/device/net/%s/ifindex", name);
	read_path(path, index, sizeof(index));
	snprintf(path, sizeof(path), "/sys/class/net/%s/ifindex", name);
	read_path(path, real, sizeof(real));
	assert_string_equal(index, real);
}

static void open_files_do_not_betray_the_tree(void **state)
{
	char name[64], text[PATH_MAX];
	int fd = open(GUID, O_RDONLY);
	ssize_t n;

	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	n = readlink(name, text, sizeof(text) - 1);
	assert_true(n > 0);
	text[n] = '\0';
	assert_string_equal(text, PCI "/infiniband/mlx5_0/node_guid");
	close(fd);
}

static void *look(void *arg)
{
	struct stat st;
	long bad = 0;
	int i;

	for (i = 0; i < 2000; i++) {
		bad += stat(GUID, &st) != 0;
		bad += stat("/etc/passwd", &st) != 0;
	}
	return (void *)bad;
}

static void threads_look_at_the_same_time(void **state)
{
	pthread_t threads[4];
	void *bad;
	int i;

	for (i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, look, NULL), 0);
	for (i = 0; i < 4; i++) {
		pthread_join(threads[i], &bad);
		assert_null(bad);
	}
}

static void children_see_the_same(void **state)
{
	int status;
	pid_t pid = fork();

	if (!pid)
		_exit(access(GUID, R_OK) ? 1 : 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	pid = fork();
	if (!pid) {
		execlp("test", "test", "-r", GUID, (char *)NULL);
		_exit(9);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* The library's own constructor may come later than that of a program. */
static int before_main = -1;

__attribute__((constructor(101))) static void look_early(void)
{
	before_main = access(GUID, R_OK);
}

static void constructors_see_the_same(void **state)
{
	assert_int_equal(before_main, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_way_to_open_a_file_finds_it),
		cmocka_unit_test(fortified_programs_find_it_too),
		cmocka_unit_test(programs_from_before_glibc_2_33_find_it_too),
		cmocka_unit_test(
			device_files_are_character_devices_that_open_for_reading_and_writing),
		cmocka_unit_test(directories_list_both_adapters),
		cmocka_unit_test(glob_expands_redirected_names),
		cmocka_unit_test(a_device_resolves_to_its_pci_function),
		cmocka_unit_test(links_read_as_the_kernel_would_write_them),
		cmocka_unit_test(the_working_directory_keeps_its_known_name),
		cmocka_unit_test(relative_names_from_directories_above_are_redirected),
		cmocka_unit_test(names_relative_to_an_open_directory_are_redirected),
		cmocka_unit_test(untidy_names_are_understood),
		cmocka_unit_test(names_that_only_begin_alike_are_left_alone),
		cmocka_unit_test(the_rest_of_the_machine_is_as_it_was),
		cmocka_unit_test(failures_have_the_errno_that_the_kernel_gives),
		cmocka_unit_test(success_leaves_errno_alone),
		cmocka_unit_test(too_long_a_name_is_refused),
		cmocka_unit_test(real_pci_functions_stay_visible_beside_ours),
		cmocka_unit_test(the_bound_interface_is_below_the_pci_function),
		cmocka_unit_test(open_files_do_not_betray_the_tree),
		cmocka_unit_test(threads_look_at_the_same_time),
		cmocka_unit_test(children_see_the_same),
		cmocka_unit_test(constructors_see_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
