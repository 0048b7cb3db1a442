#include "agent/linux/worker_files.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "agent/linux/files.hpp"

namespace paceline::agent {
namespace {

constexpr std::string_view kSocketEnd = ".sock";

std::string beside(std::string_view worker_socket, std::string_view end) {
  if (worker_socket.ends_with(kSocketEnd)) worker_socket.remove_suffix(kSocketEnd.size());
  return std::string(worker_socket).append(end);
}

}  // namespace

std::string token_path(std::string_view worker_socket) { return beside(worker_socket, ".token"); }
std::string hostfile_path(std::string_view worker_socket) {
  return beside(worker_socket, ".hostfile");
}

std::vector<std::string> worker_files(std::string_view worker_socket) {
  return {std::string(worker_socket), token_path(worker_socket), hostfile_path(worker_socket)};
}

Result<void> write_worker_file(const std::string& path, std::string_view text, std::uint32_t uid) {
  if (auto written = replace_file(AT_FDCWD, path.c_str(), text); !written) return written;
  if (::geteuid() == 0 && ::chown(path.c_str(), uid, static_cast<gid_t>(-1)) != 0)
    return fail(system_error("Can't hand over '" + path + "'", errno));
  return {};
}

}  // namespace paceline::agent
