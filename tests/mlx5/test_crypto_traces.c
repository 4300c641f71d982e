/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Traces of secrets: after its use a secret is nowhere in the process's memory, neither on the stack of the
 * thread that handed it over, nor in memory that was freed. The test's own memory has a secret during the
 * call only: bytes of it are calculated, and the search compares with bytes that are masked.
 */
#include "crypto_keys.h"
#include "devx_rig.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#define BODY       IFC_LEN_general_obj_in_cmd_hdr
#define CHUNK      (1u << 20)
#define PAGE       4096u
#define PIECE      16u /* so many bytes of a secret are a trace of it */
#define SECRET_LEN 64u

static struct ibv_context *ctx;
static struct ibv_pd *pd;
static uint8_t *chunk; /* a copy of the memory in question; shared, and so not searched itself */

/* ---- secrets ---- */

typedef uint8_t secret_fn(size_t i);

/* A key that no one else has. */
static uint8_t own_key(size_t i)
{
	return (uint8_t)((i + 3) * 151 ^ i * i * 29 ^ 0x6d);
}

static uint8_t hex_at(const char *digits, size_t i)
{
	const char byte[] = { digits[2 * i], digits[2 * i + 1], 0 };

	return (uint8_t)strtoul(byte, NULL, 16);
}

/* Of crypto_keys.h. */
static uint8_t wrapped_key(size_t i)
{
	return hex_at(DEK_256, i);
}

static uint8_t kek(size_t i)
{
	return hex_at(KEK, i % 32);
}

static uint8_t credential(size_t i)
{
	return hex_at(CREDENTIAL, i % 40);
}

/* ---- looking for them ---- */

struct memory {
	int mem;     /* /proc/self/mem */
	int pagemap; /* an entry of 8 bytes per page */
};

static bool is_piece(const uint8_t *at, const uint8_t *mask, size_t from)
{
	for (size_t i = 0; i < PIECE; i++)
		if ((at[i] ^ 0x5a) != mask[from + i])
			return false;
	return true;
}

static unsigned int count_in(const uint8_t *at, size_t len, const uint8_t *mask, size_t secret_len)
{
	unsigned int found = 0;

	for (size_t i = 0; i + PIECE <= len; i++)
		for (size_t from = 0; from + PIECE <= secret_len; from += PIECE)
			if ((at[i] ^ 0x5a) == mask[from] && is_piece(at + i, mask, from))
				found++;
	return found;
}

static unsigned int count_range(int mem, uintptr_t from, uintptr_t to, const uint8_t *mask,
				size_t len)
{
	unsigned int found = 0;

	while (from + PIECE <= to) {
		size_t want = to - from < CHUNK ? to - from : CHUNK;
		ssize_t n = pread(mem, chunk, want, (off_t)from);

		if (n < (ssize_t)PIECE)
			break;
		found += count_in(chunk, (size_t)n, mask, len);
		/* A piece may lie across the end. */
		from += (size_t)n - (PIECE - 1);
	}
	return found;
}

/* Bits 62 and 63 of a page's entry: the page is in swap space, or in memory. */
static bool has_content(int pagemap, uintptr_t page)
{
	uint64_t entry;

	assert_int_equal(
		pread(pagemap, &entry, sizeof(entry), (off_t)(page / PAGE * sizeof(entry))),
		sizeof(entry));
	return entry >> 62;
}

/*
 * Only pages that were written or read have content: the kernel merges an arena of malloc with a long
 * mapping that ends where the arena begins, of which next to nothing is in use.
 */
static unsigned int count_mapping(const struct memory *m, uintptr_t from, uintptr_t to,
				  const uint8_t *mask, size_t len)
{
	unsigned int found = 0;

	while (from < to) {
		uintptr_t end = from;

		while (end < to && has_content(m->pagemap, end))
			end += PAGE;
		found += count_range(m->mem, from, end, mask, len);
		from = end + PAGE;
	}
	return found;
}

/* Pieces of the secret in all private memory. */
static unsigned int count_traces(secret_fn *secret, size_t len)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	const struct memory m = { .mem = open("/proc/self/mem", O_RDONLY | O_CLOEXEC),
				  .pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC) };
	uint8_t mask[SECRET_LEN];
	uintptr_t from, to;
	unsigned int found = 0;
	char line[512];

	assert_non_null(maps);
	assert_true(m.mem >= 0 && m.pagemap >= 0);
	for (size_t i = 0; i < len; i++)
		mask[i] = secret(i) ^ 0x5a;
	while (fgets(line, sizeof(line), maps))
		if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " rw-p", &from, &to) == 2 &&
		    strstr(line, " rw-p ") && from != (uintptr_t)chunk)
			found += count_mapping(&m, from, to, mask, len);
	fclose(maps);
	close(m.pagemap);
	close(m.mem);
	return found;
}

/* ---- handing them over ---- */

static pthread_barrier_t met;

/* Functions called from here leave their traces deeper on the stack than later calls reach. */
static __attribute__((noinline)) void call_deep(void (*function)(void))
{
	char deep[4096];

	explicit_bzero(deep, sizeof(deep));
	function();
	explicit_bzero(deep, sizeof(deep)); /* keeps the call from being a jump */
}

static void *work(void *function)
{
	call_deep((void (*)(void))function);
	/* A thread that ends gives its stack back to the kernel. */
	pthread_barrier_wait(&met);
	pthread_barrier_wait(&met);
	return NULL;
}

/* Runs a function in a thread that is still there, but not at work, while `look` runs. */
static void run(void (*function)(void), void (*look)(void))
{
	pthread_t thread;

	assert_int_equal(pthread_barrier_init(&met, NULL, 2), 0);
	assert_int_equal(pthread_create(&thread, NULL, work, (void *)function), 0);
	pthread_barrier_wait(&met);
	look();
	pthread_barrier_wait(&met);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(pthread_barrier_destroy(&met), 0);
}

static void put(uint8_t *to, secret_fn *secret, size_t len)
{
	for (size_t i = 0; i < len; i++)
		to[i] = secret(i);
}

static void by_call(void)
{
	struct mlx5dv_dek_init_attr attr = { .pd = pd,
					     .key_size = MLX5DV_CRYPTO_KEY_SIZE_256,
					     .comp_mask = MLX5DV_DEK_INIT_ATTR_CRYPTO_LOGIN };
	struct mlx5dv_dek *dek;

	put((uint8_t *)attr.key, own_key, SECRET_LEN);
	dek = mlx5dv_dek_create(ctx, &attr);
	explicit_bzero(&attr, sizeof(attr));
	assert_non_null(dek);
	/* The keys themselves are there while the DEK is, and the search finds them. */
	assert_true(count_traces(own_key, SECRET_LEN) > 0);
	assert_int_equal(mlx5dv_dek_destroy(dek), 0);
}

static void by_command(void)
{
	uint8_t in[BODY + 0x100] = { 0 }, out[BODY] = { 0 };
	struct mlx5dv_pd of = { 0 };
	struct mlx5dv_obj init = { .pd = { .in = pd, .out = &of } };
	struct mlx5dv_devx_obj *dek;

	assert_int_equal(mlx5dv_init_obj(&init, MLX5DV_OBJ_PD), 0);
	ifc_set(in, general_obj_in_cmd_hdr, opcode, IFC_OP_CREATE_GENERAL_OBJECT);
	ifc_set(in, general_obj_in_cmd_hdr, obj_type, IFC_OBJ_DEK);
	ifc_set(in + BODY, encryption_key_obj, key_purpose, IFC_DEK_PURPOSE_AES_XTS);
	ifc_set(in + BODY, encryption_key_obj, key_size, IFC_KEY_SIZE_256);
	ifc_set(in + BODY, encryption_key_obj, pd, of.pdn);
	put(ifc_ptr(in + BODY, encryption_key_obj, key), own_key, SECRET_LEN);
	dek = mlx5dv_devx_obj_create(ctx, in, sizeof(in), out, sizeof(out));
	assert_non_null(dek);
	assert_int_equal(mlx5dv_devx_obj_destroy(dek), 0);
	/* A domain that does not exist. */
	ifc_set(in + BODY, encryption_key_obj, pd, 0xffffff);
	assert_null(mlx5dv_devx_obj_create(ctx, in, sizeof(in), out, sizeof(out)));
	explicit_bzero(in, sizeof(in));
}

static void by_login(void)
{
	struct mlx5dv_crypto_login_attr login = { 0 };
	struct mlx5dv_dek_init_attr attr = { .pd = pd, .key_size = MLX5DV_CRYPTO_KEY_SIZE_256 };
	struct mlx5dv_dek_attr asked = { 0 };
	struct mlx5dv_dek *dek;

	from_hex(CREDENTIAL_WRAPPED, login.credential);
	from_hex(DEK_256_WRAPPED, attr.key);
	assert_int_equal(mlx5dv_crypto_login(ctx, &login), 0);
	dek = mlx5dv_dek_create(ctx, &attr);
	assert_non_null(dek);
	assert_int_equal(mlx5dv_dek_query(dek, &asked), 0);
	assert_int_equal(mlx5dv_dek_destroy(dek), 0);
	assert_int_equal(mlx5dv_crypto_logout(ctx), 0);
}

static void by_wrong_login(void)
{
	struct mlx5dv_crypto_login_attr login = { 0 };

	from_hex(CREDENTIAL_2_WRAPPED, login.credential);
	assert_int_equal(mlx5dv_crypto_login(ctx, &login), EINVAL);
	login.credential_id = 200; /* there is none */
	assert_int_equal(mlx5dv_crypto_login(ctx, &login), EINVAL);
}

/* ---- tests ---- */

static void expect_no_key(void)
{
	assert_int_equal(count_traces(own_key, SECRET_LEN), 0);
}

static void no_trace_of_a_key_is_left_by_calls(void **state)
{
	run(by_call, expect_no_key);
}

static void no_trace_of_a_key_is_left_by_commands(void **state)
{
	run(by_command, expect_no_key);
}

static unsigned int keks, credentials;

static void expect_no_more_secrets(void)
{
	assert_int_equal(count_traces(kek, 32), keks);
	assert_int_equal(count_traces(credential, 40), credentials);
	assert_int_equal(count_traces(wrapped_key, SECRET_LEN), 0);
}

/* The adapter's configuration has its KEK and its credential, and nothing else does. */
static void no_trace_of_secrets_is_left_by_logins(void **state)
{
	keks = count_traces(kek, 32);
	credentials = count_traces(credential, 40);
	assert_true(keks > 0 && credentials > 0);
	run(by_login, expect_no_more_secrets);
	run(by_wrong_login, expect_no_more_secrets);
}

/* ---- */

static int open_on(const char *name)
{
	ctx = pair_open(name);
	pd = ibv_alloc_pd(ctx);
	assert_non_null(pd);
	chunk = mmap(NULL, CHUNK, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(chunk != MAP_FAILED);
	return 0;
}

static int open_plaintext(void **state)
{
	return open_on("mlx5_0");
}

static int open_wrapped(void **state)
{
	return open_on("mlx5_1");
}

static int shut(void **state)
{
	munmap(chunk, CHUNK);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
	assert_int_equal(ibv_close_device(ctx), 0);
	return 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(no_trace_of_a_key_is_left_by_calls, open_plaintext,
						shut),
		cmocka_unit_test_setup_teardown(no_trace_of_a_key_is_left_by_commands,
						open_plaintext, shut),
		cmocka_unit_test_setup_teardown(no_trace_of_secrets_is_left_by_logins, open_wrapped,
						shut),
	};

	/* The loader, where it looks a function up at its first call, saves registers on the stack. */
	if (!getenv("LD_BIND_NOW")) {
		setenv("LD_BIND_NOW", "1", 1);
		execv("/proc/self/exe", argv);
	}
	setenv("VERBENA_ADAPTERS", CRYPTO_ADAPTERS, 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
