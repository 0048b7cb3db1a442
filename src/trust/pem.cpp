#include "trust/pem.hpp"

#include "base/check.hpp"
#include "trust/openssl_library.hpp"

namespace paceline {
namespace {

constexpr std::size_t kCertificatesMax = 8;

OwnedBio reader_of(std::string_view text) {
  if (text.size() > kPemBytesMax) text = {};
  OwnedBio reader(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  check(reader != nullptr, "OpenSSL has memory");
  return reader;
}

// Nobody is asked for a password.
int no_password(char* /*into*/, int /*size*/, int /*writes*/, void* /*data*/) { return -1; }

// PEM_read_bio_…() of a kind.
template <class Owned, class Read>
Owned read_first(BIO& reader, const Read& read) {
  Owned object(read(&reader, nullptr, &no_password, nullptr));
  ERR_clear_error();
  return object;
}

template <class Write>
std::string written(Write write) {
  const OwnedBio out(BIO_new(BIO_s_mem()));
  check(out != nullptr && write(out.get()) == 1, "OpenSSL can write what it made");
  char* text = nullptr;
  const auto size = BIO_get_mem_data(out.get(), &text);
  return {text, static_cast<std::size_t>(size)};
}

}  // namespace

OwnedKey read_key(std::string_view text) {
  return read_first<OwnedKey>(*reader_of(text), PEM_read_bio_PrivateKey);
}

OwnedCertificate read_certificate(std::string_view text) {
  return read_first<OwnedCertificate>(*reader_of(text), PEM_read_bio_X509);
}

OwnedRequest read_request(std::string_view text) {
  return read_first<OwnedRequest>(*reader_of(text), PEM_read_bio_X509_REQ);
}

std::vector<OwnedCertificate> read_certificates(std::string_view text) {
  std::vector<OwnedCertificate> all;
  const auto reader = reader_of(text);
  while (all.size() < kCertificatesMax) {
    auto next = read_first<OwnedCertificate>(*reader, PEM_read_bio_X509);
    if (!next) break;
    all.push_back(std::move(next));
  }
  return all;
}

std::string to_pem(const EVP_PKEY& key) {
  return written([&](BIO* out) {
    return PEM_write_bio_PrivateKey(out, &key, nullptr, nullptr, 0, nullptr, nullptr);
  });
}

std::string to_pem(const X509& certificate) {
  return written([&](BIO* out) { return PEM_write_bio_X509(out, &certificate); });
}

std::string to_pem(const X509_REQ& request) {
  return written([&](BIO* out) { return PEM_write_bio_X509_REQ(out, &request); });
}

}  // namespace paceline
