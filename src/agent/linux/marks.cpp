#include "agent/linux/marks.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include "base/digest.hpp"

namespace paceline::agent {
namespace {

std::string workers_directory(const std::string& server_directory) {
  return server_directory + "/agent/workers";
}

std::uint64_t identity(const std::string& server_directory) {
  struct stat info {};
  Digest digest;
  digest.add(std::string_view(server_directory));
  if (::stat(workers_directory(server_directory).c_str(), &info) == 0)
    digest.add(std::uint64_t{info.st_dev}).add(std::uint64_t{info.st_ino});
  return digest.value();
}

bool is_own_group(const std::string& path, const std::string& own_end) {
  return path.empty() || (path.starts_with('/') && path.ends_with(own_end) &&
                          path.find("/..") == std::string::npos);
}

}  // namespace

Marks::Marks(std::string server_directory)
    : directory_(std::move(server_directory)), id_(fmt::format("{:016x}", identity(directory_))) {}

std::string Marks::claim_path(const ProcessKey& key) const {
  return workers_directory(directory_) + "/" + claim_name(key);
}

std::string Marks::aside_path(const ProcessKey& key) const {
  return directory_ + "/agent/damaged/" + claim_name(key);
}

std::string Marks::marker(const ProcessKey& key, ClaimFormat format) const {
  const std::string known = fmt::format("{}={}@{}", kMarkerName, claim_name(key), claim_path(key));
  return format == ClaimFormat::sealed ? known + "#" + id_ : known;
}

std::string Marks::group(ClaimFormat format) const {
  if (format == ClaimFormat::sealed) return "paceline-" + id_;
  return fmt::format("paceline-{:016x}", Digest().add(std::string_view(directory_)).value());
}

bool Marks::are_on(const WorkerOrder& order, ClaimFormat format) const {
  const std::string own_end = "/" + group(format) + "/" + claim_name(order.key);
  const CgroupPlan& plan = order.cgroups;
  for (const auto* path :
       {&plan.unified, &plan.freezer, &plan.cpu, &plan.memory, &plan.devices, &plan.pids})
    if (!is_own_group(*path, own_end)) return false;
  return order.marker == marker(order.key, format);
}

}  // namespace paceline::agent
