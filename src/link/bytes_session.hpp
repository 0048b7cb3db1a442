// One connection for bytes, as the server speaks it. Internal to bytes_door.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "http/read_buffer.hpp"
#include "http/transport.hpp"
#include "link/bytes_door.hpp"
#include "link/bytes_lines.hpp"
#include "link/log_sources.hpp"
#include "loop/errands.hpp"
#include "loop/wakeup.hpp"
#include "ship/reader.hpp"

namespace paceline {

class BytesSession;

// What the sessions of a door share.
struct BytesContext {
  BytesContext(boost::asio::io_context& i, BytesDoor::Options o)
      : io(i), options(std::move(o)), intake(options.intake), ships(options.ships) {}

  boost::asio::io_context& io;
  BytesDoor::Options options;
  LogIntake intake;
  ShipReader ships;  // of the thread that reads them alone
  // The node sends logs by this session from now on.
  std::function<void(const std::shared_ptr<BytesSession>&)> greeted;
  std::function<void(const std::shared_ptr<BytesSession>&)> gone;
  // What comes by this connection is the terminal that the ticket was made for. False: none was.
  std::function<bool(const std::string& node, const std::string& ticket,
                     const std::shared_ptr<ServerStream>& terminal)>
      show_ticket;
  std::function<void(const std::string& node, const NoDoor& none)> no_terminal;
  std::function<void(const std::string& node, JobId job)> whole;
};

class BytesSession : public std::enable_shared_from_this<BytesSession> {
 public:
  BytesSession(std::shared_ptr<BytesContext> context, std::string node,
               std::shared_ptr<ServerStream> own);

  // Speaks until the connection ends.
  void run();
  // False: it takes no more now.
  bool send(const ServerLine& line);
  void close() { own_->close(); }
  [[nodiscard]] const std::string& node() const { return node_; }

 private:
  template <class T>
  using Awaitable = ServerStream::Awaitable<T>;
  using Instant = std::chrono::steady_clock::time_point;

  [[nodiscard]] bool is_cut() const { return own_->presence() == ServerStream::Presence::gone; }
  void leave();
  Awaitable<void> listen();
  Awaitable<void> speak();
  Awaitable<void> beat();
  Awaitable<void> take_lines();
  Awaitable<std::optional<std::string>> first_line();
  Awaitable<bool> next_line(std::string& line);
  Awaitable<bool> next_bytes(std::size_t count, std::string& bytes);
  Awaitable<bool> more();
  static Awaitable<void> sleep(boost::asio::steady_timer& timer, std::chrono::milliseconds span);
  Awaitable<void> take(const BytesHello& hello);
  Awaitable<void> take(const TicketShown& shown);
  Awaitable<void> take(const LogAsked& asked);
  Awaitable<void> take(const PieceHead& piece);
  Awaitable<void> take(const LogsWhole& whole);
  Awaitable<void> take(const NoDoor& none);
  Awaitable<void> take(const ShipWanted& wanted);
  Awaitable<void> take(const ShipDamaged& damaged);
  Awaitable<void> take_piece(PieceHead piece, const std::string& bytes);
  Result<std::uint64_t> store(PieceHead& piece, std::uint32_t uid, const std::string& bytes);

  // What this node may have of a job's directory, as of its first question.
  Result<ShipRight> right_of(JobId job);
  Awaitable<void> hand_out();
  Awaitable<Result<ShipBytes>> read_for(const ShipWanted& wanted);
  void answer(const ShipWanted& wanted, const Result<ShipBytes>& read);
  Awaitable<Result<ShipBytes>> read_ship(ShipRight right, std::string digest, std::uint64_t from);

  void stand(const LogName& log, const LogRight& right, std::uint64_t taken);
  void refuse(Error error);
  void say_storage(const Result<std::uint64_t>& outcome);

  std::shared_ptr<BytesContext> context_;
  std::string node_;
  std::shared_ptr<ServerStream> own_;
  boost::asio::steady_timer beat_, sleep_, pause_;  // pause_: before a ship is read again
  ReadBuffer buffer_;
  BytesReader reader_;
  Sha256 source_{};
  Duration ahead_{};                      // of this machine's clock before the node's
  std::map<JobId, ShipRight> rights_;     // what it may have of jobs
  std::set<LogName> in_step_;             // their next piece goes on where the last one ended
  std::optional<Instant> waiting_since_;  // for the node to say something
  std::string out_;
  std::deque<ShipWanted> wanted_;  // that is not answered yet
  Wakeup out_changed_;
  bool greeted_ = false;
  bool handed_on_ = false;  // the connection is a terminal's
  bool ending_ = false;     // nothing is said after what waits in out_
  bool gone_ = false;
  bool said_storage_ = false;
};

}  // namespace paceline
