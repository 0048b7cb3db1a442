#include "cli/client/ship_sender.hpp"

#include <fmt/format.h>

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cli/client/interrupt.hpp"
#include "cli/client/persistence.hpp"
#include "cli/words/text.hpp"
#include "ship/pieces.hpp"

namespace paceline {
namespace {

constexpr std::size_t kBodyBytes = 1 << 20;
constexpr int kRoundsMax = 8;  // of asking and sending
// What is on its way elsewhere, and doesn't come any more, keeps its room for a minute.
constexpr std::chrono::seconds kRoomPatience{75};
constexpr Duration kRoomPause = std::chrono::seconds{1};

class Sender {
 public:
  Sender(Api& api, Console& console, const Packing& packing, const Manifest& manifest)
      : api_(api), console_(console), packing_(packing), manifest_(manifest) {}

  Result<ShippedDirectory> run() {
    Persistence patience(console_);
    for (int round = 0; round < kRoundsMax;) {
      auto missing = ask();
      if (!missing && api_.is_answered() && is_away(missing.error())) {
        if (!waits_for_room(missing.error())) return fail(std::move(missing.error()));
        continue;
      }
      if (missing && missing->empty()) {
        patience.over();
        return shipped_;
      }
      auto sent = missing ? send(*missing) : Result<void>(fail(missing.error()));
      if (sent) continue;
      const bool out_of_step = sent.error().code == ErrorCode::conflict;
      if (!out_of_step && !patience.again(sent.error())) return fail(std::move(sent.error()));
      round += out_of_step ? 1 : 0;
    }
    return fail(ErrorCode::conflict, "The directory changes while it is shipped.",
                "Submit again once nothing writes there.");
  }

 private:
  bool waits_for_room(const Error& error) {
    const auto now = std::chrono::steady_clock::now();
    if (!full_since_) console_.note(error.message + " Waiting for a while.");
    full_since_ = full_since_.value_or(now);
    return now - *full_since_ < kRoomPatience && Interrupt::sleep(kRoomPause);
  }

  // The files that the server lacks, each digest once.
  Result<std::vector<const ShipFile*>> ask() {
    const auto answer = api_.post("/v1/ships", to_text(manifest_));
    if (!answer) return fail(answer.error());
    shipped_ = {text_of(*answer, "ship"), manifest_.files.size(), manifest_.bytes()};
    std::set<std::string> wanted;
    for (const auto& digest : list_of(*answer, "missing"))
      if (digest.is_string()) wanted.insert(digest.get<std::string>());
    std::vector<const ShipFile*> missing;
    for (const auto& file : manifest_.files)
      if (wanted.erase(file.sha256) > 0) missing.push_back(&file);
    tell(missing);
    return missing;
  }

  void tell(const std::vector<const ShipFile*>& missing) {
    if (std::exchange(told_, true)) return;
    std::uint64_t bytes = 0;
    for (const auto* file : missing) bytes += file->bytes;
    const auto news = missing.empty() ? std::string("all of it is there already")
                                      : fmt::format("{} to send", human_bytes(bytes));
    console_.note(fmt::format("Ships {}, {}; {}.", plural(manifest_.files.size(), "file"),
                              human_bytes(manifest_.bytes()), news));
  }

  Result<void> send(const std::vector<const ShipFile*>& missing) {
    std::string body;
    for (const auto* file : missing) {
      std::uint64_t at = 0;
      do {
        const auto piece = pack_piece(packing_.directory, *file, at, kBodyBytes);
        if (!piece) return fail(piece.error());
        body += piece_line({file->sha256, at, static_cast<std::uint32_t>(piece->size())}) + *piece;
        at += piece->size();
        if (body.size() < kBodyBytes) continue;
        if (auto sent = send(std::exchange(body, {})); !sent) return sent;
      } while (at < file->bytes);
    }
    return body.empty() ? Result<void>{} : send(std::move(body));
  }

  Result<void> send(std::string body) {
    ClientRequest request;
    request.method = "POST";
    request.target = "/v1/ships/pieces";
    request.body = std::move(body);
    request.content_type = "application/octet-stream";
    const auto taken = api_.ask(request);
    if (!taken) return fail(taken.error());
    return {};
  }

  Api& api_;
  Console& console_;
  const Packing& packing_;
  const Manifest& manifest_;
  ShippedDirectory shipped_;
  bool told_ = false;
  std::optional<std::chrono::steady_clock::time_point> full_since_;
};

}  // namespace

Result<ShippedDirectory> send_ship(Api& api, Console& console, const Packing& packing) {
  const auto manifest = pack(packing);
  if (!manifest) return fail(manifest.error());
  return Sender(api, console, packing, *manifest).run();
}

}  // namespace paceline
