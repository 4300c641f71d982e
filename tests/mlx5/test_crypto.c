/* SPDX-License-Identifier: BSD-2-Clause */
/* Objects for encryption: logins, data encryption keys, and what device commands make of them. */
#include "crypto_keys.h"
#include "devx_rig.h"

#include <errno.h>

#define WRAPPING "mlx5_1"

static struct ibv_context *ctx;
static struct ibv_pd *pd;

static void open_on(const char *name)
{
	ctx = pair_open(name);
	pd = ibv_alloc_pd(ctx);
	assert_non_null(pd);
}

static int open_plaintext(void **state)
{
	open_on("mlx5_0");
	return 0;
}

static int open_wrapped(void **state)
{
	open_on(WRAPPING);
	return 0;
}

static int shut(void **state)
{
	assert_int_equal(ibv_dealloc_pd(pd), 0);
	assert_int_equal(ibv_close_device(ctx), 0);
	return 0;
}

/* ---- what is asked for ---- */

static struct mlx5dv_crypto_login_attr login_attr(const char *credential)
{
	struct mlx5dv_crypto_login_attr attr = { 0 };

	from_hex(credential, attr.credential);
	return attr;
}

static int login(const char *credential)
{
	struct mlx5dv_crypto_login_attr attr = login_attr(credential);

	return mlx5dv_crypto_login(ctx, &attr);
}

static struct mlx5dv_crypto_login_obj *login_object(uint32_t credential_id, uint32_t kek_id,
						    const char *credential)
{
	uint8_t bytes[48];
	struct mlx5dv_crypto_login_attr_ex attr = {
		.credential_id = credential_id,
		.import_kek_id = kek_id,
		.credential = bytes,
		.credential_len = from_hex(credential, bytes),
	};

	return mlx5dv_crypto_login_create(ctx, &attr);
}

static enum mlx5dv_crypto_login_state login_state(void)
{
	enum mlx5dv_crypto_login_state state;

	assert_int_equal(mlx5dv_crypto_login_query_state(ctx, &state), 0);
	return state;
}

static struct mlx5dv_dek_init_attr dek_attr(const char *key)
{
	struct mlx5dv_dek_init_attr attr = { .pd = pd, .opaque = "opaque!" };
	size_t n = from_hex(key, attr.key);

	attr.key_size = n >= 64 ? MLX5DV_CRYPTO_KEY_SIZE_256 : MLX5DV_CRYPTO_KEY_SIZE_128;
	attr.has_keytag = n == 48 || n == 80;
	return attr;
}

static struct mlx5dv_dek *make_plaintext(const char *key)
{
	struct mlx5dv_dek_init_attr attr = dek_attr(key);

	attr.has_keytag = strlen(key) == 80 || strlen(key) == 144;
	attr.comp_mask = MLX5DV_DEK_INIT_ATTR_CRYPTO_LOGIN;
	return mlx5dv_dek_create(ctx, &attr);
}

static struct mlx5dv_dek *make_wrapped(const char *key, struct mlx5dv_crypto_login_obj *by)
{
	struct mlx5dv_dek_init_attr attr = dek_attr(key);

	attr.comp_mask = by ? MLX5DV_DEK_INIT_ATTR_CRYPTO_LOGIN : 0;
	attr.crypto_login = by;
	return mlx5dv_dek_create(ctx, &attr);
}

static void check_and_destroy(struct mlx5dv_dek *dek)
{
	struct mlx5dv_dek_attr attr = { 0 };

	assert_non_null(dek);
	assert_int_equal(mlx5dv_dek_query(dek, &attr), 0);
	assert_int_equal(attr.state, MLX5DV_DEK_STATE_READY);
	assert_string_equal(attr.opaque, "opaque!");
	attr.comp_mask = 1;
	assert_int_equal(mlx5dv_dek_query(dek, &attr), EINVAL);
	assert_int_equal(mlx5dv_dek_destroy(dek), 0);
}

static struct mlx5dv_crypto_caps caps_of(const char *name)
{
	struct ibv_context *of = pair_open(name);
	struct mlx5dv_context attr = { .comp_mask = MLX5DV_CONTEXT_MASK_CRYPTO_OFFLOAD };

	assert_int_equal(mlx5dv_query_device(of, &attr), 0);
	assert_true(attr.comp_mask & MLX5DV_CONTEXT_MASK_CRYPTO_OFFLOAD);
	assert_int_equal(ibv_close_device(of), 0);
	return attr.crypto_caps;
}

/* ---- capabilities ---- */

static void capabilities_tell_how_keys_are_imported(void **state)
{
	struct mlx5dv_crypto_caps plain = caps_of("mlx5_0"), wrapped = caps_of(WRAPPING),
				  none = caps_of("mlx5_2");

	assert_int_equal(plain.failed_selftests, 0);
	assert_int_equal(plain.crypto_engines, MLX5DV_CRYPTO_ENGINES_CAP_AES_XTS_SINGLE_BLOCK);
	assert_int_equal(wrapped.crypto_engines,
			 MLX5DV_CRYPTO_ENGINES_CAP_AES_XTS_SINGLE_BLOCK |
				 MLX5DV_CRYPTO_ENGINES_CAP_AES_XTS_MULTI_BLOCK);
	assert_int_equal(plain.wrapped_import_method, 0);
	assert_int_equal(plain.flags, MLX5DV_CRYPTO_CAPS_CRYPTO);
	assert_true(plain.log_max_num_deks > 0);
	assert_int_equal(wrapped.wrapped_import_method,
			 MLX5DV_CRYPTO_WRAPPED_IMPORT_METHOD_CAP_AES_XTS);
	assert_int_equal(wrapped.flags,
			 MLX5DV_CRYPTO_CAPS_CRYPTO | MLX5DV_CRYPTO_CAPS_WRAPPED_CRYPTO_OPERATIONAL);
	assert_int_equal(none.crypto_engines, 0);
	assert_int_equal(none.flags, 0);
}

/* The general page and the crypto page, as DPDK reads them. */
static void query_page(const char *name, unsigned int page, uint8_t *out, size_t len)
{
	uint8_t in[IFC_LEN_query_hca_cap_in] = { 0 };
	struct ibv_context *of = pair_open(name);

	ifc_set(in, cmd_in, opcode, IFC_OP_QUERY_HCA_CAP);
	ifc_set(in, cmd_in, op_mod, IFC_CAP_OP_MOD(page, 1));
	assert_int_equal(mlx5dv_devx_general_cmd(of, in, sizeof(in), out, len), 0);
	assert_int_equal(ibv_close_device(of), 0);
}

static void device_commands_tell_the_same(void **state)
{
	uint8_t out[0x1010], *cap = ifc_ptr(out, query_hca_cap_out, capability);
	const uint64_t logins = 1ull << IFC_OBJ_CRYPTO_LOGIN | 1ull << IFC_OBJ_IMPORT_KEK |
				1ull << IFC_OBJ_CREDENTIAL;

	query_page("mlx5_0", IFC_CAP_GENERAL, out, sizeof(out));
	assert_int_equal(ifc_get(cap, cmd_hca_cap, crypto), 1);
	assert_int_equal(ifc_get(cap, cmd_hca_cap, aes_xts_single_block_le_tweak), 1);
	assert_int_equal(ifc_get(cap, cmd_hca_cap, aes_xts_multi_block_be_tweak), 0);
	assert_true(ifc_get(cap, cmd_hca_cap, general_obj_types) & 1ull << IFC_OBJ_DEK);
	assert_int_equal(ifc_get(cap, cmd_hca_cap, general_obj_types) & logins, 0);
	query_page("mlx5_0", IFC_CAP_CRYPTO, out, sizeof(out));
	assert_int_equal(ifc_get(cap, crypto_caps, wrapped_import_method), 0);
	query_page(WRAPPING, IFC_CAP_GENERAL, out, sizeof(out));
	assert_true((ifc_get(cap, cmd_hca_cap, general_obj_types) & logins) == logins);
	assert_int_equal(ifc_get(cap, cmd_hca_cap, aes_xts_multi_block_be_tweak), 1);
	query_page(WRAPPING, IFC_CAP_CRYPTO, out, sizeof(out));
	assert_int_equal(ifc_get(cap, crypto_caps, wrapped_crypto_operational), 1);
	assert_int_equal(ifc_get(cap, crypto_caps, wrapped_import_method),
			 IFC_IMPORT_METHOD_AES_XTS);
	query_page("mlx5_2", IFC_CAP_GENERAL, out, sizeof(out));
	assert_int_equal(ifc_get(cap, cmd_hca_cap, crypto), 0);
	assert_false(ifc_get(cap, cmd_hca_cap, general_obj_types) & 1ull << IFC_OBJ_DEK);
}

/* ---- keys in plaintext ---- */

static void plaintext_keys_are_imported(void **state)
{
	check_and_destroy(make_plaintext(DEK_128));
	check_and_destroy(make_plaintext(DEK_256));
	check_and_destroy(make_plaintext(DEK_128 KEYTAG));
	check_and_destroy(make_plaintext(DEK_256 KEYTAG));
}

static void an_adapter_of_plaintext_keys_has_no_logins(void **state)
{
	assert_int_equal(login(CREDENTIAL_WRAPPED), EOPNOTSUPP);
	assert_int_equal(login_state(), MLX5DV_CRYPTO_LOGIN_STATE_NO_LOGIN);
	assert_null(login_object(0, 0, CREDENTIAL_WRAPPED));
	assert_int_equal(errno, EOPNOTSUPP);
	assert_null(make_wrapped(DEK_128_WRAPPED, NULL));
	assert_int_equal(errno, EINVAL);
	assert_int_equal(mlx5dv_crypto_logout(ctx), ENOENT);
}

static void a_key_of_unknown_kind_is_refused(void **state)
{
	struct mlx5dv_dek_init_attr good = dek_attr(DEK_128), attr;

	good.comp_mask = MLX5DV_DEK_INIT_ATTR_CRYPTO_LOGIN;
	attr = good;
	attr.key_size = 2;
	assert_null(mlx5dv_dek_create(ctx, &attr));
	assert_int_equal(errno, EINVAL);
	attr = good;
	attr.key_purpose = 1;
	assert_null(mlx5dv_dek_create(ctx, &attr));
	assert_int_equal(errno, EINVAL);
	attr = good;
	attr.comp_mask |= 2;
	assert_null(mlx5dv_dek_create(ctx, &attr));
	assert_int_equal(errno, EINVAL);
}

static void a_domain_is_busy_while_it_has_a_key(void **state)
{
	struct mlx5dv_dek *dek = make_plaintext(DEK_128);

	assert_non_null(dek);
	assert_int_equal(ibv_dealloc_pd(pd), EBUSY);
	assert_int_equal(mlx5dv_dek_destroy(dek), 0);
}

static void a_model_without_encryption_has_no_keys(void **state)
{
	open_on("mlx5_2");
	assert_null(make_plaintext(DEK_128));
	assert_int_equal(errno, EOPNOTSUPP);
	assert_int_equal(login(CREDENTIAL_WRAPPED), EOPNOTSUPP);
	shut(state);
}

/* ---- wrapped keys ---- */

static void wrapped_keys_need_a_login(void **state)
{
	struct mlx5dv_dek_attr attr = { 0 };
	struct mlx5dv_dek *dek;

	assert_null(make_wrapped(DEK_128_WRAPPED, NULL));
	assert_int_equal(errno, EINVAL);
	assert_int_equal(login_state(), MLX5DV_CRYPTO_LOGIN_STATE_NO_LOGIN);
	assert_int_equal(login(CREDENTIAL_WRAPPED), 0);
	assert_int_equal(login_state(), MLX5DV_CRYPTO_LOGIN_STATE_VALID);
	assert_int_equal(login(CREDENTIAL_WRAPPED), EEXIST);
	check_and_destroy(make_wrapped(DEK_128_WRAPPED, NULL));
	check_and_destroy(make_wrapped(DEK_128_TAG_WRAPPED, NULL));
	check_and_destroy(make_wrapped(DEK_256_WRAPPED, NULL));
	dek = make_wrapped(DEK_128_WRAPPED, NULL);
	assert_non_null(dek);
	assert_int_equal(mlx5dv_crypto_logout(ctx), 0);
	assert_int_equal(login_state(), MLX5DV_CRYPTO_LOGIN_STATE_NO_LOGIN);
	assert_int_equal(mlx5dv_crypto_logout(ctx), ENOENT);
	assert_int_equal(mlx5dv_dek_query(dek, &attr), EINVAL);
	assert_int_equal(mlx5dv_dek_destroy(dek), 0);
}

static void a_login_may_be_an_object(void **state)
{
	struct mlx5dv_crypto_login_query_attr attr = { 0 };
	struct mlx5dv_crypto_login_obj *obj = login_object(0, 0, CREDENTIAL_WRAPPED);

	assert_non_null(obj);
	assert_int_equal(mlx5dv_crypto_login_query(obj, &attr), 0);
	assert_int_equal(attr.state, MLX5DV_CRYPTO_LOGIN_STATE_VALID);
	attr.comp_mask = 1;
	assert_int_equal(mlx5dv_crypto_login_query(obj, &attr), EINVAL);
	/* One per context. */
	assert_null(login_object(0, 0, CREDENTIAL_WRAPPED));
	assert_int_equal(errno, EINVAL);
	assert_int_equal(login_state(), MLX5DV_CRYPTO_LOGIN_STATE_NO_LOGIN);
	check_and_destroy(make_wrapped(DEK_128_WRAPPED, obj));
	/* The call without an object is for the other kind of login. */
	assert_null(make_wrapped(DEK_128_WRAPPED, NULL));
	assert_int_equal(errno, EINVAL);
	assert_int_equal(mlx5dv_crypto_login_destroy(obj), 0);
}

static void plaintext_keys_are_refused_where_they_come_wrapped(void **state)
{
	assert_null(make_plaintext(DEK_128));
	assert_int_equal(errno, EINVAL);
}

static void wrong_credentials_are_refused(void **state)
{
	struct mlx5dv_crypto_login_attr attr = login_attr(CREDENTIAL_WRAPPED);

	assert_int_equal(login(CREDENTIAL_2_WRAPPED), EINVAL);
	attr.credential[47] ^= 1;
	assert_int_equal(mlx5dv_crypto_login(ctx, &attr), EINVAL);
	attr = login_attr(CREDENTIAL_WRAPPED);
	attr.import_kek_id = 1;
	assert_int_equal(mlx5dv_crypto_login(ctx, &attr), EINVAL);
	attr = login_attr(CREDENTIAL_WRAPPED);
	attr.credential_id = 1u << 24;
	assert_int_equal(mlx5dv_crypto_login(ctx, &attr), EINVAL);
	attr = login_attr(CREDENTIAL_WRAPPED);
	attr.comp_mask = 1;
	assert_int_equal(mlx5dv_crypto_login(ctx, &attr), EINVAL);
	assert_null(login_object(0, 0, DEK_128_WRAPPED)); /* 40 bytes */
	assert_int_equal(errno, EINVAL);
	assert_int_equal(login_state(), MLX5DV_CRYPTO_LOGIN_STATE_NO_LOGIN);
}

static void a_key_that_another_kek_wrapped_is_refused(void **state)
{
	assert_int_equal(login(CREDENTIAL_WRAPPED), 0);
	assert_null(make_wrapped(DEK_128_WRAPPED_BY_2, NULL));
	assert_int_equal(errno, EINVAL);
	/* Closing the context ends the login. */
}

static void a_login_object_outlives_its_context(void **state)
{
	struct ibv_context *mine = ctx;
	struct mlx5dv_crypto_login_obj *obj;
	struct mlx5dv_crypto_login_query_attr attr = { 0 };

	ctx = pair_open(WRAPPING);
	obj = login_object(0, 0, CREDENTIAL_WRAPPED);
	assert_non_null(obj);
	assert_int_equal(ibv_close_device(ctx), 0);
	ctx = mine;
	assert_int_equal(mlx5dv_crypto_login_query(obj, &attr), 0);
	assert_int_equal(attr.state, MLX5DV_CRYPTO_LOGIN_STATE_INVALID);
	assert_int_equal(mlx5dv_crypto_login_destroy(obj), 0);
}

/* ---- by device commands ---- */

#define BODY IFC_LEN_general_obj_in_cmd_hdr

struct box {
	uint8_t in[BODY + 0x100], out[BODY + 0x100];
};

static struct mlx5dv_devx_obj *create(struct box *b, unsigned int type)
{
	ifc_set(b->in, general_obj_in_cmd_hdr, opcode, IFC_OP_CREATE_GENERAL_OBJECT);
	ifc_set(b->in, general_obj_in_cmd_hdr, obj_type, type);
	return mlx5dv_devx_obj_create(ctx, b->in, sizeof(b->in), b->out, BODY);
}

static uint32_t number_of(const struct box *b)
{
	return ifc_get(b->out, general_obj_out_cmd_hdr, obj_id);
}

/* The body of the answer. */
static const uint8_t *query(struct box *b, struct mlx5dv_devx_obj *obj, unsigned int type,
			    uint32_t number)
{
	uint8_t in[BODY] = { 0 };

	ifc_set(in, general_obj_in_cmd_hdr, opcode, IFC_OP_QUERY_GENERAL_OBJECT);
	ifc_set(in, general_obj_in_cmd_hdr, obj_type, type);
	ifc_set(in, general_obj_in_cmd_hdr, obj_id, number);
	assert_int_equal(mlx5dv_devx_obj_query(obj, in, sizeof(in), b->out, sizeof(b->out)), 0);
	return b->out + BODY;
}

static struct mlx5dv_devx_obj *create_login(struct box *b, uint32_t kek, uint32_t credential,
					    const char *wrapped)
{
	uint8_t *body = b->in + BODY;

	memset(b, 0, sizeof(*b));
	ifc_set(body, crypto_login_obj, session_import_kek_ptr, kek);
	ifc_set(body, crypto_login_obj, credential_pointer, credential);
	from_hex(wrapped, ifc_ptr(body, crypto_login_obj, credential));
	return create(b, IFC_OBJ_CRYPTO_LOGIN);
}

static uint32_t pdn_of(struct ibv_pd *of)
{
	struct mlx5dv_pd out = { 0 };
	struct mlx5dv_obj obj = { .pd = { .in = of, .out = &out } };

	assert_int_equal(mlx5dv_init_obj(&obj, MLX5DV_OBJ_PD), 0);
	return out.pdn;
}

static struct mlx5dv_devx_obj *create_dek(struct box *b, const char *key, unsigned int purpose)
{
	uint8_t *body = b->in + BODY;

	memset(b, 0, sizeof(*b));
	ifc_set(body, encryption_key_obj, key_purpose, purpose);
	ifc_set(body, encryption_key_obj, pd, pdn_of(pd));
	memcpy(ifc_ptr(body, encryption_key_obj, opaque), "12345678", 8);
	from_hex(key, ifc_ptr(body, encryption_key_obj, key));
	return create(b, IFC_OBJ_DEK);
}

static void commands_make_keys(void **state)
{
	struct box b;
	struct mlx5dv_devx_obj *dek = create_dek(&b, DEK_128, IFC_DEK_PURPOSE_AES_XTS);
	const uint8_t *body;
	static const uint8_t none[128];

	assert_non_null(dek);
	assert_in_range(number_of(&b), 1, 0xffffff);
	body = query(&b, dek, IFC_OBJ_DEK, number_of(&b));
	assert_int_equal(ifc_get(body, encryption_key_obj, state), IFC_DEK_READY);
	assert_int_equal(ifc_get(body, encryption_key_obj, pd), pdn_of(pd));
	assert_memory_equal(ifc_cptr(body, encryption_key_obj, opaque), "12345678", 8);
	/* The key itself never leaves the adapter. */
	assert_memory_equal(ifc_cptr(body, encryption_key_obj, key), none, sizeof(none));
	assert_int_equal(mlx5dv_devx_obj_destroy(dek), 0);
	/* TLS */
	assert_null(create_dek(&b, DEK_128, 1));
	assert_int_equal(errno, EREMOTEIO);
}

static struct mlx5dv_devx_obj *create_kek(struct box *b)
{
	memset(b, 0, sizeof(*b));
	ifc_set(b->in + BODY, import_kek_obj, key_size, IFC_KEY_SIZE_128);
	from_hex(KEK_2_WRAPPED, ifc_ptr(b->in + BODY, import_kek_obj, key));
	return create(b, IFC_OBJ_IMPORT_KEK);
}

/* A context that is logged in stores another KEK, by which a second context logs in. */
static void a_login_is_invalid_once_its_kek_is_deleted(void **state)
{
	struct mlx5dv_devx_obj *officer, *kek, *user, *dek;
	struct ibv_context *first = ctx;
	struct ibv_pd *first_pd = pd;
	struct box b;
	uint32_t number, login_number;

	assert_null(create_kek(&b)); /* not before a login */
	officer = create_login(&b, 0, 0, CREDENTIAL_WRAPPED);
	assert_non_null(officer);
	kek = create_kek(&b);
	assert_non_null(kek);
	number = number_of(&b);

	open_on(WRAPPING);
	assert_null(create_login(&b, number, 0, CREDENTIAL_WRAPPED));
	user = create_login(&b, number, 0, CREDENTIAL_WRAPPED_BY_2);
	assert_non_null(user);
	login_number = number_of(&b);
	dek = create_dek(&b, DEK_128_WRAPPED_BY_2, IFC_DEK_PURPOSE_AES_XTS);
	assert_non_null(dek);
	assert_int_equal(mlx5dv_devx_obj_destroy(dek), 0);

	assert_int_equal(mlx5dv_devx_obj_destroy(kek), 0);
	assert_int_equal(ifc_get(query(&b, user, IFC_OBJ_CRYPTO_LOGIN, login_number),
				 crypto_login_obj, state),
			 IFC_LOGIN_INVALID);
	assert_null(create_dek(&b, DEK_128_WRAPPED_BY_2, IFC_DEK_PURPOSE_AES_XTS));
	assert_int_equal(mlx5dv_devx_obj_destroy(user), 0);
	shut(state);
	ctx = first;
	pd = first_pd;
	assert_int_equal(mlx5dv_devx_obj_destroy(officer), 0);
}

static void a_login_is_invalid_once_its_credential_is_deleted(void **state)
{
	struct mlx5dv_crypto_login_obj *user;
	struct mlx5dv_crypto_login_query_attr attr = { 0 };
	struct mlx5dv_devx_obj *officer, *credential;
	struct ibv_context *first = ctx;
	struct box b;
	uint32_t number;

	officer = create_login(&b, 0, 0, CREDENTIAL_WRAPPED);
	assert_non_null(officer);
	memset(&b, 0, sizeof(b));
	from_hex(CREDENTIAL_2_WRAPPED, ifc_ptr(b.in + BODY, credential_obj, credential));
	credential = create(&b, IFC_OBJ_CREDENTIAL);
	assert_non_null(credential);
	number = number_of(&b);

	ctx = pair_open(WRAPPING);
	user = login_object(number, 0, CREDENTIAL_2_WRAPPED);
	assert_non_null(user);
	assert_int_equal(mlx5dv_devx_obj_destroy(credential), 0);
	assert_int_equal(mlx5dv_crypto_login_query(user, &attr), 0);
	assert_int_equal(attr.state, MLX5DV_CRYPTO_LOGIN_STATE_INVALID);
	assert_int_equal(mlx5dv_crypto_login_destroy(user), 0);
	assert_int_equal(ibv_close_device(ctx), 0);
	ctx = first;
	assert_int_equal(mlx5dv_devx_obj_destroy(officer), 0);
}

#define PLAIN(f)   cmocka_unit_test_setup_teardown(f, open_plaintext, shut)
#define WRAPPED(f) cmocka_unit_test_setup_teardown(f, open_wrapped, shut)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(capabilities_tell_how_keys_are_imported),
		cmocka_unit_test(device_commands_tell_the_same),
		PLAIN(plaintext_keys_are_imported),
		PLAIN(an_adapter_of_plaintext_keys_has_no_logins),
		PLAIN(a_key_of_unknown_kind_is_refused),
		PLAIN(a_domain_is_busy_while_it_has_a_key),
		cmocka_unit_test(a_model_without_encryption_has_no_keys),
		WRAPPED(wrapped_keys_need_a_login),
		WRAPPED(a_login_may_be_an_object),
		WRAPPED(plaintext_keys_are_refused_where_they_come_wrapped),
		WRAPPED(wrong_credentials_are_refused),
		WRAPPED(a_key_that_another_kek_wrapped_is_refused),
		WRAPPED(a_login_object_outlives_its_context),
		PLAIN(commands_make_keys),
		WRAPPED(a_login_is_invalid_once_its_kek_is_deleted),
		WRAPPED(a_login_is_invalid_once_its_credential_is_deleted),
	};

	setenv("VERBENA_ADAPTERS", CRYPTO_ADAPTERS, 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
