#include "link/bytes_session.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <exception>
#include <utility>

#include "ship/store.hpp"
#include "trust/sha256.hpp"

namespace asio = boost::asio;

namespace paceline {
namespace {

constexpr std::size_t kOutMax = 256 << 10;  // beyond it nothing more is read
constexpr std::size_t kOutRefused = 1 << 20;
constexpr std::size_t kShippedAheadMax = 256 << 10;  // beyond it nothing that is shipped is read
constexpr std::size_t kWantedMax = 64;               // of what is shipped, that waits to be read
constexpr int kReadsMax = 20;                        // of what can't be read at first
constexpr int kInstantsOfBeat = 16;
constexpr std::size_t kLogsMax = 65'536;  // of a node, in step
constexpr std::size_t kRightsMax = 16;    // jobs of which a node asks for what travels at once

Error spoken_out_of_turn() {
  return {ErrorCode::invalid, "A connection for bytes begins with 'hello' or 'ticket', once.",
          "Both ends must be Paceline programs."};
}

// After such a span at most. All sessions beat at few instants, for each of which the server wakes once.
std::chrono::steady_clock::time_point next_beat(std::chrono::steady_clock::duration span) {
  const auto latest = std::chrono::steady_clock::now() + span;
  return latest - latest.time_since_epoch() % (span / kInstantsOfBeat);
}

// May what is shipped be read in a while, without anybody doing anything about it?
bool may_pass(const Error& error) {
  return error.code == ErrorCode::storage || error.code == ErrorCode::unavailable;
}

Result<ShipBytes> read_ships(ShipReader& reader, const ShipRight& right, const std::string& digest,
                             std::uint64_t from) {
  Result<ShipBytes> read = fail(ErrorCode::not_found, "Nothing travels with this job.");
  for (const auto& ship : right.ships) {
    read = reader.read({right.uid, ship}, digest, from, kPieceBytesMax);
    if (read || may_pass(read.error())) break;
  }
  return read;
}

}  // namespace

BytesSession::BytesSession(std::shared_ptr<BytesContext> context, std::string node,
                           std::shared_ptr<ServerStream> own)
    : context_(std::move(context)),
      node_(std::move(node)),
      own_(std::move(own)),
      beat_(context_->io),
      sleep_(context_->io),
      pause_(context_->io),
      out_changed_(context_->io) {}

// Each part keeps the session. It ends with the one that listens, or with what one of them throws.
void BytesSession::run() {
  const auto spawn = [self = shared_from_this()](Awaitable<void> (BytesSession::*part)()) {
    asio::co_spawn(
        self->context_->io, [self, part]() -> Awaitable<void> { co_await ((*self).*part)(); },
        [self, part](const std::exception_ptr& thrown) {
          if (thrown || part == &BytesSession::listen) self->leave();
        });
  };
  spawn(&BytesSession::listen);
  spawn(&BytesSession::speak);
  spawn(&BytesSession::beat);
  spawn(&BytesSession::hand_out);
}

void BytesSession::leave() {
  if (std::exchange(gone_, true)) return;
  if (!handed_on_) close();
  beat_.cancel();
  sleep_.cancel();
  pause_.cancel();
  out_changed_.tell();
  context_->gone(shared_from_this());
}

bool BytesSession::send(const ServerLine& line) {
  if (ending_ || out_.size() > kOutRefused) return false;
  out_ += encode(line);
  out_changed_.tell();
  return true;
}

// ---- what goes out ----

BytesSession::Awaitable<void> BytesSession::speak() {
  while (!gone_ && !handed_on_) {
    if (out_.empty() && ending_) {
      co_await sleep(sleep_, context_->options.last_words);
      co_return own_->finish_sending();
    }
    if (out_.empty()) {
      co_await out_changed_.wait();
      continue;
    }
    const auto text = std::exchange(out_, {});
    out_changed_.tell();
    const bool written = co_await write_all(*own_, text);
    if (!written) co_return;
  }
}

// Closes a connection whose other end is silent. While we read nothing, that is not its fault.
BytesSession::Awaitable<void> BytesSession::beat() {
  const auto& options = context_->options;
  while (!gone_ && !handed_on_) {
    ServerStream::Failure ended;
    beat_.expires_at(next_beat(std::min(options.beat, options.silence)));
    co_await beat_.async_wait(asio::redirect_error(asio::use_awaitable, ended));
    if (gone_ || handed_on_) co_return;
    const auto silent_for = std::chrono::steady_clock::now() -
                            waiting_since_.value_or(std::chrono::steady_clock::now());
    if (silent_for >= options.silence) co_return close();
    if (greeted_ && !ending_ && out_.empty()) {
      out_ += '\n';
      out_changed_.tell();
    }
  }
}

void BytesSession::refuse(Error error) {
  send(BytesRefused{std::move(error)});
  ending_ = true;
  out_changed_.tell();
}

// ---- what comes in ----

BytesSession::Awaitable<void> BytesSession::listen() {
  co_await take_lines();
  // What a refused node still says; its connection ends once the refusal went out.
  for (bool there = ending_; there; there = co_await more()) reader_.rest();
}

BytesSession::Awaitable<void> BytesSession::take_lines() {
  auto first = co_await first_line();
  std::string line = first.value_or("");
  for (bool there = first.has_value(); there; there = co_await next_line(line)) {
    if (line.empty()) continue;
    auto read = decode_node_line(line);
    if (!read) co_return refuse(std::move(read.error()));
    co_await std::visit([this](const auto& each) { return take(each); }, *read);
    if (ending_ || handed_on_) co_return;
  }
}

// Byte by byte: what comes behind may be a terminal's.
BytesSession::Awaitable<std::optional<std::string>> BytesSession::first_line() {
  std::string line;
  char next = 0;
  while (line.size() <= kBytesLineMax) {
    ServerStream::Failure failure;
    waiting_since_ = waiting_since_.value_or(std::chrono::steady_clock::now());
    co_await own_->read_some(asio::buffer(&next, 1), failure);
    if (failure) co_return std::nullopt;
    if (next == '\n') break;
    line += next;
  }
  waiting_since_.reset();
  if (line.size() <= kBytesLineMax) co_return line;
  refuse({ErrorCode::too_large, "A line of a connection for bytes is too long.",
          "Both ends must be Paceline programs."});
  co_return std::nullopt;
}

BytesSession::Awaitable<bool> BytesSession::more() {
  ServerStream::Failure failure;
  while (out_.size() > kOutMax && !ending_ && !gone_) co_await out_changed_.wait();
  waiting_since_ = std::chrono::steady_clock::now();
  const auto count = co_await own_->read_some(buffer_.room(), failure);
  waiting_since_.reset();
  if (failure) co_return false;
  reader_.feed(buffer_.took(count));
  co_return true;
}

BytesSession::Awaitable<bool> BytesSession::next_line(std::string& line) {
  for (;;) {
    auto found = reader_.next_line(line);
    if (!found) refuse(std::move(found.error()));
    if (!found || is_cut()) co_return false;
    if (*found) co_return true;
    const bool there = co_await more();
    if (!there) co_return false;
  }
}

BytesSession::Awaitable<bool> BytesSession::next_bytes(std::size_t count, std::string& bytes) {
  while (!reader_.next_bytes(count, bytes)) {
    const bool there = co_await more();
    if (!there) co_return false;
  }
  co_return true;
}

BytesSession::Awaitable<void> BytesSession::sleep(asio::steady_timer& timer,
                                                  std::chrono::milliseconds span) {
  ServerStream::Failure ended;
  timer.expires_after(span);
  co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, ended));
}

// ---- each kind of line ----

BytesSession::Awaitable<void> BytesSession::take(const BytesHello& hello) {
  if (std::exchange(greeted_, true)) co_return refuse(spoken_out_of_turn());
  if (hello.version != kBytesVersion)
    co_return refuse({ErrorCode::conflict,
                      fmt::format("The node speaks version {} of the protocol for bytes, and the "
                                  "server version {}.",
                                  hello.version, kBytesVersion),
                      "Bring both to the same version of Paceline."});
  source_ = log_source(node_, hello.machine);
  ahead_ = context_->options.wall() - hello.now;
  send(BytesWelcome{});
  context_->greeted(shared_from_this());
}

BytesSession::Awaitable<void> BytesSession::take(const TicketShown& shown) {
  if (greeted_) co_return refuse(spoken_out_of_turn());
  handed_on_ = context_->show_ticket(node_, shown.ticket, own_);
  if (!handed_on_) refuse({ErrorCode::not_found, "Nobody waits for this terminal any more.", ""});
}

BytesSession::Awaitable<void> BytesSession::take(const NoDoor& none) {
  if (!greeted_) co_return refuse(spoken_out_of_turn());
  context_->no_terminal(node_, none);
}

BytesSession::Awaitable<void> BytesSession::take(const LogsWhole& whole) {
  if (!greeted_) co_return refuse(spoken_out_of_turn());
  context_->whole(node_, whole.job);
}

// ---- what travels with jobs ----

Result<ShipRight> BytesSession::right_of(JobId job) {
  const auto known = rights_.find(job);
  if (known != rights_.end()) return known->second;
  const auto& options = context_->options;
  if (!options.ship) return fail(ErrorCode::not_found, "Nothing travels with this job.");
  auto right = options.ship(node_, job);
  if (!right) return fail(std::move(right.error()));
  if (rights_.size() >= kRightsMax) rights_.erase(rights_.begin());
  return rights_.emplace(job, std::move(*right)).first->second;
}

BytesSession::Awaitable<Result<ShipBytes>> BytesSession::read_ship(ShipRight right,
                                                                   std::string digest,
                                                                   std::uint64_t from) {
  auto read = [context = context_.get(), right = std::move(right), digest = std::move(digest),
               from] { return read_ships(context->ships, right, digest, from); };
  co_return co_await context_->options.reading->run(std::move(read));
}

BytesSession::Awaitable<void> BytesSession::take(const ShipWanted& wanted) {
  if (!greeted_) co_return refuse(spoken_out_of_turn());
  while (wanted_.size() >= kWantedMax && !ending_ && !gone_) co_await out_changed_.wait();
  wanted_.push_back(wanted);
  out_changed_.tell();
}

// Others have their turn while the disk is read, and more is read while this goes out. Answers keep their order:
// what can't be read now holds up the rest. One that never can ends the connection, and the node asks anew.
BytesSession::Awaitable<void> BytesSession::hand_out() {
  int reads = 0;
  while (!gone_ && !handed_on_ && !ending_) {
    if (wanted_.empty() || out_.size() > kShippedAheadMax) {
      co_await out_changed_.wait();
      continue;
    }
    auto read = co_await read_for(wanted_.front());
    const bool again = !read && may_pass(read.error());
    if (again && ++reads >= kReadsMax) co_return refuse(std::move(read.error()));
    if (again) {
      co_await sleep(pause_, context_->options.retry);
      continue;
    }
    reads = 0;
    answer(wanted_.front(), read);
    wanted_.pop_front();
  }
}

// By a right that is known from before. More may travel with the job by now.
BytesSession::Awaitable<Result<ShipBytes>> BytesSession::read_for(const ShipWanted& wanted) {
  const bool known = rights_.contains(wanted.job);
  const auto right = right_of(wanted.job);
  if (!right) co_return fail(right.error());
  auto read = co_await read_ship(*right, wanted.sha256, wanted.from);
  if (read || may_pass(read.error())) co_return read;
  rights_.erase(wanted.job);
  if (known) read = co_await read_for(wanted);
  co_return read;
}

void BytesSession::answer(const ShipWanted& wanted, const Result<ShipBytes>& read) {
  const auto& [job, digest, from] = wanted;
  if (read) {
    const auto size = static_cast<std::uint32_t>(read->bytes.size());
    out_ += encode(ShipPart{job, digest, from, size, read->of});
    out_ += read->bytes;
  } else {
    out_ += encode(NoShipPart{job, digest, read.error().message, read.error().hint});
  }
  out_changed_.tell();
}

// A node's word alone removes nothing.
BytesSession::Awaitable<void> BytesSession::take(const ShipDamaged& damaged) {
  if (!greeted_) co_return refuse(spoken_out_of_turn());
  const auto right = right_of(damaged.job);
  if (!right || std::ranges::find(right->ships, damaged.sha256) != right->ships.end()) co_return;
  const auto sum = std::make_shared<Sha256Sum>();
  for (std::uint64_t at = 0, of = 1; at < of && !is_cut();) {
    auto read = co_await read_ship(*right, damaged.sha256, at);
    if (!read || (read->bytes.empty() && read->of > at)) co_return;
    at += read->bytes.size();
    of = read->of;
    auto add = [sum, bytes = std::move(read->bytes)] {
      sum->add(bytes);
      return bytes.size();
    };
    co_await context_->options.reading->run(std::move(add));
  }
  if (is_cut() || to_hex(sum->finish()) == damaged.sha256) co_return;
  auto remove = [store = context_->options.ships, uid = right->uid, digest = damaged.sha256] {
    spdlog::error("The shipped file {} of user {} is damaged: it is asked for anew.", digest, uid);
    remove_ship_file(store, uid, digest);
    return true;
  };
  co_await context_->options.reading->run(std::move(remove));
}

void BytesSession::stand(const LogName& log, const LogRight& right, std::uint64_t taken) {
  if (right.state != LogState::taken) in_step_.erase(log);
  send(LogStanding{log, taken, right.state, right.over});
}

BytesSession::Awaitable<void> BytesSession::take(const LogAsked& asked) {
  if (!greeted_) co_return refuse(spoken_out_of_turn());
  auto right = context_->options.right(node_, asked.log);
  Result<std::uint64_t> taken = 0;
  if (right.state == LogState::taken) {
    taken = context_->intake.taken(source_, asked.log, right.uid);
    if (!taken || in_step_.size() >= kLogsMax) right.state = LogState::later;
    if (right.state == LogState::taken) in_step_.insert(asked.log);
    say_storage(taken);
  }
  stand(asked.log, right, taken.value_or(0));
}

BytesSession::Awaitable<void> BytesSession::take(const PieceHead& piece) {
  if (!greeted_) co_return refuse(spoken_out_of_turn());
  std::string bytes;
  const bool there = co_await next_bytes(piece.bytes, bytes);
  if (!there) co_return;
  if (!in_step_.contains(piece.log)) co_return stand(piece.log, {LogState::later, 0, false}, 0);
  PieceHead ours = piece;
  ours.at = std::min(context_->options.wall(), piece.at + ahead_);
  co_await take_piece(ours, bytes);
}

// What the disk refuses is tried until it is taken: the node waits meanwhile.
BytesSession::Awaitable<void> BytesSession::take_piece(PieceHead piece, const std::string& bytes) {
  while (!is_cut()) {
    auto right = context_->options.right(node_, piece.log);
    if (right.state != LogState::taken) co_return stand(piece.log, right, 0);
    auto taken = store(piece, right.uid, bytes);
    say_storage(taken);
    if (taken) co_return stand(piece.log, right, *taken);
    if (taken.error().code == ErrorCode::conflict) co_return refuse(std::move(taken.error()));
    if (taken.error().retry == Retry::useless) {
      right.state = LogState::later;
      co_return stand(piece.log, right, 0);
    }
    co_await sleep(sleep_, context_->options.retry);
  }
}

// A log that begins anew does so once.
Result<std::uint64_t> BytesSession::store(PieceHead& piece, std::uint32_t uid,
                                          const std::string& bytes) {
  LogIntake& intake = context_->intake;
  if (piece.anew) {
    auto begun = intake.begin_anew(source_, piece.log, uid, piece.from);
    if (!begun) return fail(std::move(begun.error()));
    piece.anew = false;
  }
  return intake.take(source_, piece, uid, bytes);
}

// Once, and once more when it is over.
void BytesSession::say_storage(const Result<std::uint64_t>& outcome) {
  const bool refused = !outcome && outcome.error().code == ErrorCode::storage;
  if (refused == said_storage_) return;
  said_storage_ = refused;
  if (refused)
    spdlog::warn("{} Logs of node {} wait.", outcome.error().message, node_);
  else
    spdlog::info("Logs of node {} are taken again.", node_);
}

}  // namespace paceline
