#include "wire/agent_link.hpp"

namespace paceline {

LocalLink::LocalLink(ServerEnd& server, AgentEnd& agent) : server_(server), agent_(agent) {
  server_.on_send([this](ServerFrame frame) { add(std::move(frame)); });
  agent_.on_send([this](AgentFrame frame) { add(std::move(frame)); });
}

void LocalLink::open() {
  close();
  open_ = true;
  const Session session{++opened_};
  server_.connected(session);
  agent_.connected(session);
}

void LocalLink::close() {
  if (!open_) return;
  open_ = false;
  waiting_.clear();
  server_.disconnected(Session{opened_});
  agent_.disconnected();
}

void LocalLink::add(std::variant<AgentFrame, ServerFrame> frame) {
  if (!open_) return;
  waiting_.push_back(std::move(frame));
  if (waiting_.size() == 1 && wake_) wake_();
}

void LocalLink::pump() {
  auto frames = std::exchange(waiting_, {});
  for (auto& frame : frames) {
    if (auto* up = std::get_if<AgentFrame>(&frame))
      server_.receive(std::move(*up));
    else
      agent_.receive(std::move(std::get<ServerFrame>(frame)));
  }
}

}  // namespace paceline
