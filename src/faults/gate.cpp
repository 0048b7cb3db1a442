#include "faults/gate.hpp"

#include <fmt/format.h>

#include <utility>

#include "plan/draining.hpp"

namespace paceline::faults {
namespace {

using namespace std::chrono_literals;

constexpr Duration kTravels = 300ms, kGivenUpAfter = 5s;
constexpr double kLost = 0.1;            // of requests, and of their answers
constexpr Duration kAfterRefusal = 30s;  // an agent dials again
const std::string kPeoplesName = "root";

tl::unexpected<Error> nobody_answers() {
  return fail(ErrorCode::unavailable, "The server does not answer.", {}, Retry::may_help);
}

}  // namespace

Gate::Gate(Scene& scene, FaultyServer& server, NodeWatch& watch, Habits habits, Rng rng)
    : scene_(scene), server_(server), watch_(watch), habits_(std::move(habits)), rng_(rng) {}

void Gate::add(FaultyMachine& machine, std::function<const Paper*()> shown) {
  Line& line = lines_.emplace_back(*this, machine, std::move(shown));
  machine.link().admit_by([this, &line] { return admit(line); });
  machine.link().set_server(end_ == nullptr ? nullptr : &line);
}

void Gate::set_server(Controller* controller, ServerEnd* end) {
  ++life_;
  controller_ = controller;
  end_ = end;
  open_.clear();
  sessions_ =
      NodeSessions(scene_.queue.now(), [this](const std::string& node, const std::string& boot) {
        return book_->heard(node, boot);
      });
  book_.reset();
  if (controller_ != nullptr) {
    book_.emplace(disk_, [this](const NodeBook::Pages& next) -> Result<void> {
      if (server_.store().full() || server_.store().crashed())
        return fail(ErrorCode::storage, "The disk is full.", {}, Retry::may_help);
      disk_ = next;
      std::set<std::string> left;
      for (const auto& [id, node] : disk_.nodes)
        if (node.removed_at) left.insert(id);
      scene_.ledger.nodes_left(std::move(left));
      return {};
    });
    take_certificate();
    reception().recall([this](std::string_view node) { controller_->node_left(node); });
  }
  for (Line& line : lines_) line.machine.link().set_server(end_ == nullptr ? nullptr : &line);
}

void Gate::take_certificate() { validity_ = issue({}, 0, {}).validity; }

void Gate::tick() {
  scene_.queue.after(PulseTimes{}.tick(), [this] { tick(); });
  for (Line& line : lines_) line.machine.link().beat();
  if (controller_ == nullptr) return;
  if (validity_.wants_renewal(controller_->wall())) take_certificate();
  std::vector<Session> silent;
  for (auto& [session, open] : open_) {
    if (open.line->machine.link().reaches_server(session)) {
      open.pulse.heard();
      sessions_.heard(session, scene_.queue.now());
    }
    if (open.pulse.tick() == Pulse::Due::end) silent.push_back(session);
  }
  for (const Session session : silent) {
    scene_.ledger.note("node not heard any more", sessions_.node_of(session).id);
    drop(session);
  }
}

// ---- what people say ----

Reception Gate::reception() {
  Reception::Ways ways{.book = *book_};
  if (!habits_.own_node.empty()) ways.own_nodes = {habits_.own_node};
  ways.cut = [this](std::string_view node) { drop_all(node); };
  ways.count_off = [this](std::string_view node, std::string_view by) {
    return server_.count_off(node, by);
  };
  return Reception(std::move(ways));
}

Result<std::string> Gate::invite(std::uint32_t uses, Duration holds) {
  if (controller_ == nullptr) return nobody_answers();
  const auto now = controller_->wall();
  auto token = fmt::format("token-{}", ++tokens_);
  const auto made = book_->invite({.digest = token,
                                   .made_by = kPeoplesName,
                                   .made_at = now,
                                   .expires_at = now + holds,
                                   .uses_left = uses});
  if (!made) return fail(made.error());
  watch_.invited(token, uses, made->expires_at);
  invitations_[token] = made->id;
  return token;
}

// Of a pilot: until it is over.
std::string Gate::new_token(std::uint32_t uses) {
  auto token = fmt::format("token-{}", ++tokens_);
  watch_.invited(token, uses, WallTime::max());
  return token;
}

Result<void> Gate::revoke(const std::string& token) {
  if (controller_ == nullptr) return nobody_answers();
  const auto gone = book_->revoke(invitations_.at(token));
  if (!gone) return fail(gone.error());
  watch_.revoked(token);
  return {};
}

Result<void> Gate::remove(const std::string& node, bool is_off) {
  if (controller_ == nullptr) return nobody_answers();
  const auto gone =
      reception().remove({node, kPeoplesName, is_off, controller_->wall()}, controller_->state());
  if (gone) {
    scene_.ledger.note(is_off ? "node removed, whose machine is off" : "node removed", node);
    watch_.removed(node);
    controller_->node_left(node);
    return {};
  }
  if (!is_node(node)) watch_.removal_in_doubt(node);
  scene_.ledger.note("node not removed", gone.error().message);
  return fail(gone.error());
}

bool Gate::say_off(const std::string& node) {
  if (controller_ == nullptr) return false;
  const Node* known = controller_->state().find_node(node);
  if (!is_node(node) && (known == nullptr || jobs_on(controller_->state(), *known).empty()))
    return true;
  (void)remove(node, true);
  return false;
}

bool Gate::is_node(const std::string& node) const {
  const auto known = disk_.nodes.find(node);
  return known != disk_.nodes.end() && !known->second.removed_at;
}

const Node* Gate::seen(const std::string& node) const {
  return controller_ == nullptr ? nullptr : controller_->state().find_node(node);
}

// ---- what programs ask ----

std::string Gate::new_key() { return fmt::format("key-{}", ++keys_); }

void Gate::ask(FaultyMachine& from, Serve serve, Answer answer) {
  const auto travels = [this] { return Duration{rng_.between(0, kTravels.count())}; };
  const auto lost = [this] { return !scene_.calm && rng_.chance(kLost); };
  const auto give_up = [this, answer] {
    scene_.queue.after(kGivenUpAfter, [answer] { answer(nobody_answers()); });
  };
  scene_.queue.after(travels(),
                     [this, &from, serve = std::move(serve), answer, lost, travels, give_up] {
                       if (controller_ == nullptr || from.link().is_cut() || lost())
                         return give_up();
                       auto served = serve();
                       scene_.queue.after(travels(), [&from, served = std::move(served), answer,
                                                      lost, give_up, this, life = life_] {
                         if (life != life_ || from.link().is_cut() || lost()) return give_up();
                         answer(served);
                       });
                     });
}

// The server is the one that the token or the identity names, and its certificate holds by the machine's
// clock; that of the machine by the server's.
Result<void> Gate::shake_hands(FaultyMachine& machine, const Paper* shown) {
  if (!holds(validity_, machine.wall()))
    return fail(ErrorCode::forbidden, "The server's certificate doesn't hold by this clock.", {},
                Retry::may_help);
  if (shown != nullptr && !holds(shown->validity, controller_->wall()))
    return fail(ErrorCode::forbidden,
                "The machine's certificate doesn't hold by the server's clock.", {},
                Retry::may_help);
  return {};
}

Paper Gate::issue(const std::string& node, std::uint64_t serial, std::string key) const {
  const auto now = controller_->wall();
  return {node, serial, std::move(key), {now - habits_.clocks_err, now + habits_.lifetime}};
}

Result<Paper> Gate::take_in(const std::string& token, const Newcomer& as) {
  Paper made;
  const auto now = controller_->wall();
  const auto serial = reception().join({token, as, now}, controller_->state(),
                                       [&](std::uint64_t number) -> Result<void> {
                                         made = issue(as.id, number, as.key);
                                         return {};
                                       });
  if (!serial) return fail(serial.error());
  controller_->node_joined(as.id);
  watch_.joined(token, as, *serial, now);
  return made;
}

void Gate::ask_to_join(FaultyMachine& from, std::string token, Newcomer as, Answer answer) {
  ask(
      from,
      [this, &from, token = std::move(token), as = std::move(as)]() -> Result<Paper> {
        if (auto known = shake_hands(from, nullptr); !known) return fail(known.error());
        return take_in(token, as);
      },
      std::move(answer));
}

void Gate::ask_for_another(FaultyMachine& from, Paper shown, std::string key, Answer answer) {
  ask(
      from,
      [this, &from, shown = std::move(shown), key = std::move(key)]() -> Result<Paper> {
        if (auto known = shake_hands(from, &shown); !known) return fail(known.error());
        const auto node = book_->known(shown.node, shown.serial);
        if (!node) return fail(node.error());
        scene_.ledger.note("certificate renewed", shown.node);
        return issue(node->id, node->serial, key);
      },
      std::move(answer));
}

std::optional<Error> Gate::refusal(const FaultyMachine& machine) const {
  for (const Line& line : lines_)
    if (&line.machine == &machine) return line.refusal;
  return {};
}

// ---- connections ----

bool Gate::admit(Line& line) {
  const Paper* shown = line.shown();
  if (shown == nullptr || scene_.queue.now() < line.dials_at) return false;
  const auto known = check(line, *shown);
  if (!known) {
    refuse(line, known.error());
    return false;
  }
  line.refusal.reset();
  line.known = *known;
  return true;
}

Result<KnownNode> Gate::check(Line& line, const Paper& shown) {
  if (auto one = shake_hands(line.machine, &shown); !one) return fail(one.error());
  auto known = book_->known(shown.node, shown.serial);
  if (!known) watch_.refused(shown.node, shown.serial);
  return known;
}

void Gate::refuse(Line& line, const Error& why) {
  scene_.ledger.note("node turned away", why.message);
  line.refusal = why;
  line.dials_at = scene_.queue.now() + kAfterRefusal;
}

void Gate::open(Session session, Line& line) {
  const auto other = sessions_.dialled(session, *line.known, "0.1.0", scene_.queue.now());
  if (other) drop(*other);
  open_[session] = {&line};
  end_->connected(session);
}

void Gate::over(Session session) {
  if (open_.erase(session) == 0) return;
  sessions_.over(session);
  end_->disconnected(session);
}

void Gate::drop(Session session) {
  const auto found = open_.find(session);
  if (found == open_.end()) return;
  FaultyLink& link = found->second.line->machine.link();
  over(session);
  link.end(session);
}

void Gate::drop_all(std::string_view node) {
  for (const Session session : sessions_.of(node)) drop(session);
  sessions_.forget(node);
}

void Gate::take(AgentFrame frame) {
  const auto found = open_.find(frame.session);
  if (found == open_.end()) return;
  const Session session = frame.session;
  found->second.pulse.heard();
  sessions_.heard(session, scene_.queue.now());
  auto* hello = frame.message ? std::get_if<Hello>(&*frame.message) : nullptr;
  if (hello != nullptr && !welcome(session, *found->second.line, *hello)) return;
  if (!sessions_.has_greeted(session)) return;
  const KnownNode& node = sessions_.node_of(session);
  if (auto* changed = frame.message ? std::get_if<NodeChanged>(&*frame.message) : nullptr)
    put_in_place(changed->node, node.place);
  watch_.heard(node.id, node.serial);
  end_->receive(std::move(frame));
}

bool Gate::welcome(Session session, Line& line, Hello& hello) {
  const auto greeted = sessions_.greet(session, hello, scene_.queue.now());
  if (!greeted) {
    refuse(line, greeted.error());
    drop(session);
    return false;
  }
  if (greeted->fresh) {
    bool another = false;
    for (const Line& each : lines_)
      another = another || (&each != &line && each.machine.name() == line.machine.name() &&
                            each.machine.link().carries());
    watch_.greeted(sessions_.node_of(session).id, line.machine.id(), another);
  }
  if (greeted->ends) drop(*greeted->ends);
  return true;
}

}  // namespace paceline::faults
