#include "api/join_wish.hpp"

#include <nlohmann/json.hpp>
#include <utility>

#include "model/node.hpp"
#include "trust/authority.hpp"
#include "trust/certificate_name.hpp"
#include "wire/json.hpp"

namespace paceline {
namespace {

constexpr std::size_t kMachineNameMax = 63;
constexpr std::size_t kVersionBytesMax = 64;

}  // namespace

Result<JoinWish> read_join(std::string_view body) {
  const auto json = parse_json(body);
  if (!json) return fail(json.error());
  JoinWish wish;
  ObjectReader reader(*json, "body");
  reader.require({"node", "request", "version"});
  reader.text("node", wish.newcomer.id, kMachineNameMax);
  reader.text("machine", wish.newcomer.machine, kMachineMax);
  reader.text("request", wish.request, kCertificateRequestMax);
  reader.text("version", wish.version, kVersionBytesMax);
  if (!is_node_id(wish.newcomer.id))
    reader.refuse({ErrorCode::invalid,
                   "A node's name is 1 to 63 letters, digits, '.', '_' and '-'.",
                   "Give the machine such a name: --node NAME.", Retry::useless});
  if (auto read = reader.finish(); !read) return fail(std::move(read.error()));
  const auto key = fingerprint_of_request(wish.request);
  if (!key) return fail(key.error());
  wish.newcomer.key = to_hex(*key);
  return wish;
}

}  // namespace paceline
