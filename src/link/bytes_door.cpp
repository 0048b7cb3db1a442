#include "link/bytes_door.hpp"

#include <fmt/format.h>

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "files/random_name.hpp"
#include "link/byte_pipe.hpp"
#include "link/bytes_session.hpp"

namespace asio = boost::asio;

namespace paceline {
namespace {

constexpr std::size_t kTicketsMax = 1024;

tl::unexpected<Error> unreachable(std::string_view node, std::string_view why) {
  return fail(ErrorCode::unavailable,
              fmt::format("The worker on node '{}' can't be reached: {}.", node, why),
              "Try again; 'paceline nodes' shows which nodes are connected.", Retry::may_help);
}

}  // namespace

struct BytesDoor::Impl : std::enable_shared_from_this<Impl> {
  using Session = std::shared_ptr<BytesSession>;

  // Somebody waits for a terminal.
  struct Waiting {
    std::string node;
    ProcessKey worker;
    WorkerDoor door;
    Attached attached;
    asio::steady_timer timer;
  };

  Impl(asio::io_context& io, Options options)
      : context(std::make_shared<BytesContext>(io, std::move(options))) {}

  // Sessions may outlive the door for a moment.
  void open() {
    const auto weak = weak_from_this();
    context->greeted = [weak](const Session& session) {
      if (const auto self = weak.lock()) self->greeted(session);
    };
    context->gone = [weak](const Session& session) {
      if (const auto self = weak.lock()) self->gone(session);
    };
    context->show_ticket = [weak](const std::string& node, const std::string& ticket,
                                  const std::shared_ptr<ServerStream>& terminal) {
      const auto self = weak.lock();
      return self && self->show(node, ticket, terminal);
    };
    context->whole = [weak](const std::string& node, JobId job) {
      if (const auto self = weak.lock()) self->flushed(node, job, true);
    };
    context->no_terminal = [weak](const std::string& node, const NoDoor& none) {
      if (const auto self = weak.lock())
        self->tell(node, none.ticket, unreachable(node, none.message));
    };
  }

  void greeted(const Session& session) {
    auto& newest = by_node[session->node()];
    if (newest) newest->close();
    newest = session;
    for (const auto& [of, done] : flushes)
      if (of.first == session->node()) session->send(FlushAsked{of.second});
    for (const auto& [ticket, each] : waiting)
      if (each.node == session->node()) session->send(DoorAsked{each.worker, ticket, each.door});
  }
  void gone(const Session& session) {
    sessions.erase(session);
    const auto found = by_node.find(session->node());
    if (found == by_node.end() || found->second != session) return;
    by_node.erase(found);
    std::vector<JobId> jobs;
    for (const auto& [of, done] : flushes)
      if (of.first == session->node() && (jobs.empty() || jobs.back() != of.second))
        jobs.push_back(of.second);
    for (const JobId job : jobs) flushed(session->node(), job, false);
  }

  void flush(std::string_view node, JobId job, Flushed flushed) {
    const auto session = by_node.find(node);
    if (session == by_node.end() || !session->second->send(FlushAsked{job})) return flushed(false);
    flushes.emplace(std::pair(std::string(node), job), std::move(flushed));
  }
  void flushed(const std::string& node, JobId job, bool whole) {
    std::vector<Flushed> told;
    const auto [first, last] = flushes.equal_range({node, job});
    for (auto it = first; it != last; ++it) told.push_back(std::move(it->second));
    flushes.erase(first, last);
    for (const auto& each : told) each(whole);
  }

  void attach(std::string_view node, const ProcessKey& worker, WorkerDoor door, Attached attached) {
    const auto session = by_node.find(node);
    if (session == by_node.end()) return attached(unreachable(node, "it isn't connected"));
    const auto ticket = random_name();
    if (waiting.size() >= kTicketsMax || !session->second->send(DoorAsked{worker, ticket, door}))
      return attached(unreachable(node, "too many wait for theirs"));
    auto& mine = waiting
                     .emplace(ticket, Waiting{std::string(node), worker, door, std::move(attached),
                                              asio::steady_timer(context->io)})
                     .first->second;
    mine.timer.expires_after(context->options.attach_within);
    mine.timer.async_wait([weak = weak_from_this(), ticket,
                           name = mine.node](const boost::system::error_code& error) {
      const auto self = weak.lock();
      if (!error && self) self->tell(name, ticket, unreachable(name, "it doesn't answer"));
    });
  }

  bool show(const std::string& node, const std::string& ticket,
            const std::shared_ptr<ServerStream>& terminal) {
    std::erase_if(terminals, [](const auto& each) { return each.second.expired(); });
    if (!tell(node, ticket, terminal)) return false;
    terminals.emplace_back(node, terminal);
    return true;
  }

  // False: nobody waits for it, or not of that node.
  bool tell(const std::string& node, const std::string& ticket,
            Result<std::shared_ptr<ServerStream>> terminal) {
    const auto found = waiting.find(ticket);
    if (found == waiting.end() || found->second.node != node) return false;
    const auto attached = std::move(found->second.attached);
    waiting.erase(found);
    attached(std::move(terminal));
    return true;
  }

  void cut(std::string_view node) {
    const auto all = sessions;
    for (const auto& session : all)
      if (session->node() == node) session->close();
    for (const auto& [of, weak] : terminals)
      if (const auto terminal = weak.lock(); terminal && of == node) terminal->close();
  }

  std::shared_ptr<BytesContext> context;
  std::set<Session> sessions;
  std::map<std::string, Session, std::less<>> by_node;            // that its logs come by
  std::multimap<std::pair<std::string, JobId>, Flushed> flushes;  // by node and job
  std::map<std::string, Waiting> waiting;                         // by ticket
  std::vector<std::pair<std::string, std::weak_ptr<ServerStream>>> terminals;  // by node
};

BytesDoor::BytesDoor(asio::io_context& io, Options options)
    : impl_(std::make_shared<Impl>(io, std::move(options))) {
  impl_->open();
}

BytesDoor::~BytesDoor() {
  const auto all = impl_->sessions;
  for (const auto& session : all) session->close();
}

std::shared_ptr<ServerStream> BytesDoor::open(const KnownNode& node) {
  auto pipe = make_byte_pipe(impl_->context->io);
  const auto session = std::make_shared<BytesSession>(impl_->context, node.id, std::move(pipe.own));
  impl_->sessions.insert(session);
  session->run();
  return std::move(pipe.far);
}

void BytesDoor::attach(std::string_view node, const ProcessKey& worker, WorkerDoor door,
                       Attached attached) {
  impl_->attach(node, worker, door, std::move(attached));
}

void BytesDoor::flush(std::string_view node, JobId job, Flushed flushed) {
  impl_->flush(node, job, std::move(flushed));
}

void BytesDoor::cut(std::string_view node) { impl_->cut(node); }

bool BytesDoor::is_open(std::string_view node) const { return impl_->by_node.contains(node); }

LogIntake& BytesDoor::intake() { return impl_->context->intake; }

}  // namespace paceline
