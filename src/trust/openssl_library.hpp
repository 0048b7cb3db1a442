// OpenSSL, loaded when it is first called: its tables would cost every command a quarter of its time to start.
// Calls keep their names. In namespace paceline SSL_new(context) is the function of that name in libssl.so.3;
// a call that isn't listed here doesn't link. Internal to trust and http.
//
//   if (auto there = openssl_library(); !there) return there;     // before the first call
//   SSL_write_ex(ssl, bytes, size, &count);
#pragma once

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

#include <atomic>

#include "base/result.hpp"

namespace paceline {

// Errors: unavailable: this machine lacks it.
Result<void> openssl_library();

// REQUIRES: openssl_library() would succeed.
void* openssl_symbol(const char* name);

template <class Function>
class OpensslCall;

template <class Returned, class... Taken>
class OpensslCall<Returned (*)(Taken...)> {
 public:
  using Function = Returned (*)(Taken...);
  constexpr explicit OpensslCall(const char* name) : name_(name) {}

  Returned operator()(Taken... taken) const { return function()(taken...); }
  // For those who call it later.
  [[nodiscard]] Function function() const {
    Function found = found_.load(std::memory_order_relaxed);
    if (found == nullptr) {
      found = reinterpret_cast<Function>(openssl_symbol(name_));
      found_.store(found, std::memory_order_relaxed);
    }
    return found;
  }

 private:
  const char* name_;
  mutable std::atomic<Function> found_ = nullptr;
};

#define PACELINE_OPENSSL_CALLS(CALL)     \
  CALL(ASN1_STRING_get0_data)            \
  CALL(ASN1_STRING_length)               \
  CALL(ASN1_TIME_set)                    \
  CALL(ASN1_TIME_to_tm)                  \
  CALL(BIO_clear_flags)                  \
  CALL(BIO_ctrl)                         \
  CALL(BIO_free_all)                     \
  CALL(BIO_get_data)                     \
  CALL(BIO_get_new_index)                \
  CALL(BIO_meth_new)                     \
  CALL(BIO_meth_set_ctrl)                \
  CALL(BIO_meth_set_read)                \
  CALL(BIO_meth_set_write)               \
  CALL(BIO_new)                          \
  CALL(BIO_new_mem_buf)                  \
  CALL(BIO_s_mem)                        \
  CALL(BIO_set_data)                     \
  CALL(BIO_set_flags)                    \
  CALL(BIO_set_init)                     \
  CALL(BN_free)                          \
  CALL(BN_new)                           \
  CALL(BN_rand)                          \
  CALL(BN_to_ASN1_INTEGER)               \
  CALL(CRYPTO_free)                      \
  CALL(CRYPTO_memcmp)                    \
  CALL(ERR_clear_error)                  \
  CALL(ERR_peek_error)                   \
  CALL(ERR_reason_error_string)          \
  CALL(EVP_Digest)                       \
  CALL(EVP_DigestFinal_ex)               \
  CALL(EVP_DigestInit_ex)                \
  CALL(EVP_DigestUpdate)                 \
  CALL(EVP_MD_CTX_free)                  \
  CALL(EVP_MD_CTX_new)                   \
  CALL(EVP_PKEY_free)                    \
  CALL(EVP_PKEY_get_base_id)             \
  CALL(EVP_PKEY_get_group_name)          \
  CALL(EVP_sha256)                       \
  CALL(GENERAL_NAMES_free)               \
  CALL(OPENSSL_cleanse)                  \
  CALL(OPENSSL_sk_num)                   \
  CALL(OPENSSL_sk_value)                 \
  CALL(PEM_read_bio_PrivateKey)          \
  CALL(PEM_read_bio_X509)                \
  CALL(PEM_read_bio_X509_REQ)            \
  CALL(PEM_write_bio_PrivateKey)         \
  CALL(PEM_write_bio_X509)               \
  CALL(PEM_write_bio_X509_REQ)           \
  CALL(SSL_CTX_ctrl)                     \
  CALL(SSL_CTX_free)                     \
  CALL(SSL_CTX_new)                      \
  CALL(SSL_CTX_set_alpn_protos)          \
  CALL(SSL_CTX_set_alpn_select_cb)       \
  CALL(SSL_CTX_set_cert_verify_callback) \
  CALL(SSL_CTX_set_num_tickets)          \
  CALL(SSL_CTX_set_options)              \
  CALL(SSL_CTX_set_verify)               \
  CALL(SSL_CTX_use_PrivateKey)           \
  CALL(SSL_CTX_use_certificate)          \
  CALL(SSL_do_handshake)                 \
  CALL(SSL_free)                         \
  CALL(SSL_get0_peer_certificate)        \
  CALL(SSL_get_error)                    \
  CALL(SSL_new)                          \
  CALL(SSL_peek_ex)                      \
  CALL(SSL_pending)                      \
  CALL(SSL_read_ex)                      \
  CALL(SSL_select_next_proto)            \
  CALL(SSL_set_accept_state)             \
  CALL(SSL_set_bio)                      \
  CALL(SSL_set_connect_state)            \
  CALL(SSL_shutdown)                     \
  CALL(SSL_write_ex)                     \
  CALL(TLS_client_method)                \
  CALL(TLS_server_method)                \
  CALL(X509V3_EXT_conf_nid)              \
  CALL(X509V3_set_ctx)                   \
  CALL(X509_EXTENSION_free)              \
  CALL(X509_NAME_add_entry_by_txt)       \
  CALL(X509_REQ_free)                    \
  CALL(X509_REQ_get0_pubkey)             \
  CALL(X509_REQ_new)                     \
  CALL(X509_REQ_set_pubkey)              \
  CALL(X509_REQ_set_version)             \
  CALL(X509_REQ_sign)                    \
  CALL(X509_REQ_verify)                  \
  CALL(X509_STORE_CTX_free)              \
  CALL(X509_STORE_CTX_get0_cert)         \
  CALL(X509_STORE_CTX_get0_param)        \
  CALL(X509_STORE_CTX_get0_untrusted)    \
  CALL(X509_STORE_CTX_get_current_cert)  \
  CALL(X509_STORE_CTX_get_error)         \
  CALL(X509_STORE_CTX_init)              \
  CALL(X509_STORE_CTX_new)               \
  CALL(X509_STORE_CTX_set_default)       \
  CALL(X509_STORE_CTX_set_error)         \
  CALL(X509_STORE_add_cert)              \
  CALL(X509_STORE_free)                  \
  CALL(X509_STORE_new)                   \
  CALL(X509_VERIFY_PARAM_set_depth)      \
  CALL(X509_VERIFY_PARAM_set_time)       \
  CALL(X509_add_ext)                     \
  CALL(X509_check_ca)                    \
  CALL(X509_check_private_key)           \
  CALL(X509_digest)                      \
  CALL(X509_free)                        \
  CALL(X509_get0_notAfter)               \
  CALL(X509_get0_notBefore)              \
  CALL(X509_get_ext_d2i)                 \
  CALL(X509_get_serialNumber)            \
  CALL(X509_get_subject_name)            \
  CALL(X509_getm_notAfter)               \
  CALL(X509_getm_notBefore)              \
  CALL(X509_new)                         \
  CALL(X509_set_issuer_name)             \
  CALL(X509_set_pubkey)                  \
  CALL(X509_set_version)                 \
  CALL(X509_sign)                        \
  CALL(X509_verify)                      \
  CALL(X509_verify_cert)                 \
  CALL(i2d_PUBKEY)

#define PACELINE_DECLARE(name) inline constinit const OpensslCall<decltype(&::name)> name{#name};
PACELINE_OPENSSL_CALLS(PACELINE_DECLARE)
#undef PACELINE_DECLARE

}  // namespace paceline
