# SPDX-License-Identifier: BSD-2-Clause
"""AES-XTS and AES key wrap by libcrypto, as a reference."""
import ctypes

WRAP_ALLOW = 1  # EVP_CIPHER_CTX_FLAG_WRAP_ALLOW
crypto = ctypes.CDLL("libcrypto.so.3")
for name in ("EVP_CIPHER_CTX_new", "EVP_get_cipherbyname"):
    getattr(crypto, name).restype = ctypes.c_void_p


def run(cipher, key, iv, data):
    context = ctypes.c_void_p(crypto.EVP_CIPHER_CTX_new())
    kind = ctypes.c_void_p(crypto.EVP_get_cipherbyname(cipher.encode()))
    out, count = ctypes.create_string_buffer(len(data) + 16), ctypes.c_int()
    crypto.EVP_CIPHER_CTX_set_flags(context, WRAP_ALLOW)
    if (crypto.EVP_EncryptInit_ex(context, kind, None, key, iv) != 1 or
            crypto.EVP_EncryptUpdate(context, out, ctypes.byref(count), data, len(data)) != 1):
        raise RuntimeError(f"libcrypto cannot do {cipher}")
    crypto.EVP_CIPHER_CTX_free(context)
    return out.raw[:count.value]


def xts(key, tweak, unit, data):
    """Data units, the first of which has this number for its tweak."""
    cipher = f"aes-{4 * len(key)}-xts"
    return b"".join(run(cipher, key, (tweak + i // unit).to_bytes(16, "little"), data[i:i + unit])
                    for i in range(0, len(data), unit))


def wrap(kek, key):
    return run(f"id-aes{8 * len(kek)}-wrap", kek, None, key)
