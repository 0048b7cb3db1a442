// The journal: pages of it, and following it while it grows.
#include <algorithm>
#include <limits>
#include <map>
#include <utility>
#include <variant>

#include "api/context.hpp"
#include "http/query.hpp"
#include "wire/entry_json.hpp"

namespace paceline {
namespace {

constexpr std::uint32_t kEventsPageMax = 1000;
constexpr std::size_t kFollowPage = 256;
constexpr int kFollowPagesAtOnce = 8;  // then others have their turn

struct EventQuery {
  std::optional<std::uint64_t> from;
  std::uint32_t limit = kEventsPageMax;
  bool follow = false;
};

Result<EventQuery> read_event_query(const HttpRequest& request) {
  EventQuery wanted;
  QueryReader query(request);
  query.whole("from", wanted.from, 0, std::numeric_limits<std::int64_t>::max());
  query.whole("limit", wanted.limit, 1, kEventsPageMax).flag("follow", wanted.follow);
  if (auto read = query.finish(); !read) return fail(read.error());
  if (const auto last = request.header("Last-Event-ID"); !last.empty()) {
    const auto seq = parse_whole(last, 0, std::numeric_limits<std::int64_t>::max());
    if (!seq) return fail(ErrorCode::invalid, "Last-Event-ID is not a number.", "Leave it out.");
    wanted.from = *seq + 1;
  }
  return wanted;
}

// Marks the report that met a tier of its job's target. Several reports of one batch share the time
// by which it is known: the first of them is the one.
class TierMarks {
 public:
  TiersMet of(const Entry& entry, const Job& job) {
    if (std::exchange(at_, entry.at) != entry.at) marked_.clear();
    auto met = tiers_met(entry, job);
    auto& before = marked_[job.id];
    if (met.deliver && std::exchange(before.deliver, true)) met.deliver = false;
    if (met.final && std::exchange(before.final, true)) met.final = false;
    return met;
  }

 private:
  Time at_;
  std::map<JobId, TiersMet> marked_;
};

// Writes what they may see; false: nothing.
bool write_seen(JsonWriter& json, ApiContext& context, const Principal& by, const Entry& entry,
                TierMarks& marks) {
  const auto id = private_to(entry);
  const auto job = id ? context.find(*id).value_or(nullptr) : nullptr;
  // Whose job it was, nobody knows once it was dropped.
  const bool sees = !id || whose(by, Action::read_private) == Whose::anybodys;
  if (job == nullptr) return write_event(json, entry, sees ? Viewer::owner : Viewer::other);
  return write_event(json, entry, ApiContext::viewer(by, *job), marks.of(entry, *job));
}

Result<std::string> list_events(ApiContext& context, const Principal& by,
                                const EventQuery& wanted) {
  auto& store = context.controller.store();
  const auto first = store.first_entry();
  if (!first) return fail(first.error());
  auto next = std::max(wanted.from.value_or(1), std::uint64_t{1});
  const auto entries = store.entries(next, wanted.limit);
  if (!entries) return fail(entries.error());
  JsonWriter json = context.json();
  TierMarks marks;
  json.begin_object().key("events").begin_array();
  for (const auto& entry : *entries) {
    if (json.text().size() > kPageBytesMax) break;
    write_seen(json, context, by, entry, marks);
    next = entry.seq + 1;
  }
  json.end_array().field("next", next).field("first", *first).end_object();
  return json.take();
}

// One client that follows. It reads the store until it has caught up, then takes what is committed.
// Kept, and let go, like a LogFollower.
class EventFollower : public std::enable_shared_from_this<EventFollower> {
 public:
  EventFollower(SharedContext context, Principal by, std::uint64_t from,
                std::shared_ptr<HttpStream> stream)
      : context_(std::move(context)), by_(std::move(by)), next_(from), stream_(std::move(stream)) {}

  void begin() {
    const auto self = shared_from_this();
    stream_->on_gone([self] { self->rest(); });
    stream_->on_room([self] { self->catch_up(); });
    commits_ =
        context_->entries.listen([self](std::span<const Entry> batch) { self->take(batch); });
    catch_up();
  }

 private:
  void take(std::span<const Entry> batch) {
    const auto self = shared_from_this();
    if (!batch.empty() && batch.front().seq != next_) return catch_up();
    for (const auto& entry : batch) {
      if (!stream_->has_room()) return;
      send(entry);
    }
  }

  void catch_up() {
    const auto self = shared_from_this();
    for (int pages = 0; stream_->has_room() && next_ <= context_->state().seq(); ++pages) {
      if (pages == kFollowPagesAtOnce) return stream_->go_on_later();
      const auto page = context_->controller.store().entries(next_, kFollowPage);
      if (!page || page->empty()) return give_up();
      for (const auto& entry : *page) {
        if (stream_->has_room()) send(entry);
      }
    }
  }

  void send(const Entry& entry) {
    next_ = entry.seq + 1;
    JsonWriter json = context_->json();
    if (!write_seen(json, *context_, by_, entry, marks_)) return;
    stream_->send({{}, std::to_string(entry.seq), json.take()});
  }

  // The store can't be read: the client sees the stream end and asks again.
  void give_up() {
    stream_->end();
    rest();
  }

  void rest() { commits_.reset(); }

  SharedContext context_;
  Principal by_;
  std::uint64_t next_;
  TierMarks marks_;
  std::shared_ptr<HttpStream> stream_;
  ListenToken commits_;
};

void show_events(const SharedContext& context, const std::shared_ptr<Exchange>& exchange,
                 const Principal& by) {
  const auto& request = exchange->request();
  const auto wanted = read_event_query(request);
  if (!wanted) return exchange->refuse(wanted.error());
  if (wanted->follow) {
    const auto from = wanted->from.value_or(context->state().seq() + 1);
    if (const auto begin = context->controller.store().entries(from, 1); !begin)
      return exchange->refuse(begin.error());
    std::make_shared<EventFollower>(context, by, from, exchange->stream())->begin();
    return;
  }
  auto page = list_events(*context, by, *wanted);
  if (!page) return exchange->refuse(page.error());
  exchange->reply({.body = std::move(*page)});
}

}  // namespace

void add_event_routes(Routes& routes, const SharedContext& context) {
  routes.add("GET", "/v1/events", Action::see, [context](const auto& exchange, const auto& by) {
    show_events(context, exchange, by);
  });
}

}  // namespace paceline
