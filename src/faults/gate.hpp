// The server's door for machines that join, on virtual time: what its program does with connections,
// requests, certificates and files (link/agent_sessions.hpp, api/routes_joining.cpp, app/remote_door.hpp), as
// plain words. What decides is the program's own: NodeBook, Reception, NodeSessions and Pulse.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "faults/faulty_machine.hpp"
#include "faults/faulty_server.hpp"
#include "faults/node_watch.hpp"
#include "joining/node_book.hpp"
#include "joining/node_sessions.hpp"
#include "joining/pulse.hpp"
#include "joining/reception.hpp"
#include "trust/certificate.hpp"

namespace paceline::faults {

inline bool holds(const Validity& validity, WallTime now) {
  return validity.from <= now && now < validity.until;
}

// A certificate without what proves it.
struct Paper {
  std::string node;
  std::uint64_t serial = 0;
  std::string key;
  Validity validity;
};

class Gate {
 public:
  struct Habits {
    Duration lifetime{};        // of certificates
    Duration clocks_err{};      // by so much they begin earlier
    std::string own_node = {};  // the server's own machine; empty: it has none
  };
  // All outlive it.
  Gate(Scene& scene, FaultyServer& server, NodeWatch& watch, Habits habits, Rng rng);

  // A machine that dials in, with what it shows; nullptr: nothing. It outlives the gate.
  void add(FaultyMachine& machine, std::function<const Paper*()> shown);
  void begin() { tick(); }
  // The server came up, or went down with nullptrs.
  void set_server(Controller* controller, ServerEnd* end);

  // ---- what the keeper of pilots needs. REQUIRES: it is up ----
  [[nodiscard]] NodeBook& book() { return *book_; }
  void cut(std::string_view node) { drop_all(node); }
  Result<void> count_off(std::string_view node, std::string_view by) {
    return server_.count_off(node, by);
  }
  // One that somebody is invited by, so many times.
  std::string new_token(std::uint32_t uses);

  // ---- what people say to the server. Errors: also unavailable: it is down ----
  // The token.
  Result<std::string> invite(std::uint32_t uses, Duration holds);
  Result<void> revoke(const std::string& token);
  Result<void> remove(const std::string& node, bool is_off);
  // The same of one whose machine is off, again and again. True: as far as the server says, nothing of any job
  // is there, and it is no node.
  bool say_off(const std::string& node);
  // Who joined and was not removed.
  [[nodiscard]] bool is_node(const std::string& node) const;
  // As the server sees it. nullptr: it is down, or knows no such node.
  [[nodiscard]] const Node* seen(const std::string& node) const;

  // ---- what programs of machines ask, over the network. It is answered later, or not at all: then
  // unavailable ----
  using Answer = std::function<void(const Result<Paper>&)>;
  void ask_to_join(FaultyMachine& from, std::string token, Newcomer as, Answer answer);
  void ask_for_another(FaultyMachine& from, Paper shown, std::string key, Answer answer);
  // Why it was not let in when it dialled last. Nothing: it was, or nobody answered.
  [[nodiscard]] std::optional<Error> refusal(const FaultyMachine& machine) const;

  std::string new_key();

 private:
  // The server's end of a machine's connections.
  class Line final : public ServerEnd {
   public:
    Line(Gate& gate, FaultyMachine& at, std::function<const Paper*()> what)
        : machine(at), shown(std::move(what)), gate_(gate) {}
    void connected(Session session) override { gate_.open(session, *this); }
    void disconnected(Session session) override { gate_.over(session); }
    void receive(AgentFrame frame) override { gate_.take(std::move(frame)); }
    void on_send(std::function<void(ServerFrame)>) override {}
    void step() override {}
    [[nodiscard]] std::optional<Time> next_due() const override { return {}; }

    FaultyMachine& machine;
    const std::function<const Paper*()> shown;
    std::optional<Error> refusal;
    Time dials_at;                   // not before
    std::optional<KnownNode> known;  // as it was admitted

   private:
    Gate& gate_;
  };
  struct Open {
    Line* line = nullptr;
    Pulse pulse = {};
  };
  using Serve = std::function<Result<Paper>()>;

  void tick();
  bool admit(Line& line);
  Result<KnownNode> check(Line& line, const Paper& shown);
  Result<void> shake_hands(FaultyMachine& machine, const Paper* shown);
  void open(Session session, Line& line);
  void over(Session session);
  void take(AgentFrame frame);
  bool welcome(Session session, Line& line, Hello& hello);
  void refuse(Line& line, const Error& why);
  void drop(Session session);
  void drop_all(std::string_view node);
  void ask(FaultyMachine& from, Serve serve, Answer answer);
  Result<Paper> take_in(const std::string& token, const Newcomer& as);
  [[nodiscard]] Paper issue(const std::string& node, std::uint64_t serial, std::string key) const;
  void take_certificate();
  [[nodiscard]] Reception reception();

  Scene& scene_;
  FaultyServer& server_;
  NodeWatch& watch_;
  const Habits habits_;
  Rng rng_;
  std::deque<Line> lines_;
  NodeBook::Pages disk_;
  std::uint64_t tokens_ = 0, keys_ = 0;
  std::map<std::string, std::uint32_t> invitations_;  // by their tokens

  // ---- of the server that is up ----
  Controller* controller_ = nullptr;
  ServerEnd* end_ = nullptr;
  std::uint64_t life_ = 0;
  std::optional<NodeBook> book_;
  NodeSessions sessions_{Time{}};
  std::map<Session, Open> open_;
  Validity validity_;  // of the server's own certificate
};

}  // namespace paceline::faults
