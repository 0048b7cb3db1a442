// Logs and timelines: pieces of them by byte offsets, and following them while they grow.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "api/context.hpp"
#include "api/log_reader.hpp"
#include "http/query.hpp"

namespace paceline {
namespace {

constexpr std::size_t kChunkBytes = 64 << 10;
constexpr std::size_t kPageBytes = 1 << 20;
// So long it is waited for what other nodes have of a job that is over.
constexpr std::uint64_t kGrowthsPerLook = 10;  // for logs that nobody knew of
constexpr std::chrono::milliseconds kPageGathers{1'000}, kFollowerGathers{600'000};
constexpr std::uint32_t kAskedRankMax = kLogRanksMax - 1;

using Offsets = LogReader::Offsets;

// "0:123,1:55". Empty if it is not that.
std::optional<Offsets> parse_offsets(std::string_view text) {
  Offsets offsets;
  while (!text.empty()) {
    const auto end = std::min(text.find(','), text.size());
    const auto colon = std::min(text.find(':'), end);
    const auto rank = parse_whole(text.substr(0, colon), 0, kAskedRankMax);
    const auto offset =
        parse_whole(text.substr(std::min(colon + 1, end), end - std::min(colon + 1, end)), 0,
                    std::numeric_limits<std::uint64_t>::max());
    if (!rank || !offset || offsets.size() >= kLogRanksMax) return {};
    offsets[static_cast<std::int32_t>(*rank)] = *offset;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return offsets;
}

struct LogQuery {
  std::optional<std::uint32_t> rank;
  Offsets offsets;
  bool follow = false;
  LogStart start;
  LogPieces pieces = LogPieces::joined;
};

Result<LogQuery> read_query(const HttpRequest& request) {
  LogQuery wanted;
  std::string offsets;
  QueryReader query(request);
  query.whole("rank", wanted.rank, 0, kAskedRankMax).text("offset", offsets, kPageBytes);
  query.flag("follow", wanted.follow);
  query.whole("tail_bytes", wanted.start.tail_bytes, 0, std::numeric_limits<std::uint64_t>::max());
  std::optional<std::uint32_t> since;
  query.whole("since", since, 0, std::numeric_limits<std::uint32_t>::max());
  if (since) wanted.start.since = wall_from_us(std::int64_t{*since} * 1'000'000);
  bool times = false;
  query.flag("times", times);
  if (times) wanted.pieces = LogPieces::timed;
  // A client that lost its stream says where it was.
  if (const auto last = request.header("Last-Event-ID"); !last.empty()) offsets = last;
  const auto read = parse_offsets(offsets);
  if (!read) query.refuse("offset", "RANK:BYTES,… like 0:1024,1:0");
  if (auto done = query.finish(); !done) return fail(done.error());
  wanted.offsets = *read;
  return wanted;
}

void write_chunk(JsonWriter& json, const LogChunk& chunk) {
  json.begin_object().field("rank", chunk.rank).field("offset", chunk.offset);
  json.field("next", chunk.next).field("text", chunk.text).field("at", chunk.at).end_object();
}

// One answer with all there is, up to a page.
class LogPage : public std::enable_shared_from_this<LogPage> {
 public:
  LogPage(std::shared_ptr<LogReader> reader, std::shared_ptr<Exchange> exchange)
      : reader_(std::move(reader)), exchange_(std::move(exchange)) {
    json_.begin_object().key("chunks").begin_array();
  }

  void fill() {
    if (left_ == 0) return finish();
    reader_->next(left_, LogCut::anywhere,
                  [self = shared_from_this()](Result<std::optional<LogChunk>> chunk) {
                    if (!chunk) return self->exchange_->refuse(chunk.error());
                    if (!*chunk) return self->finish();
                    self->add(**chunk);
                    self->fill();
                  });
  }

 private:
  void add(const LogChunk& chunk) {
    write_chunk(json_, chunk);
    left_ -= std::min<std::size_t>(left_, chunk.next - chunk.offset);
  }

  void finish() {
    json_.end_array().end_object();
    exchange_->reply({.body = json_.take()});
  }

  std::shared_ptr<LogReader> reader_;
  std::shared_ptr<Exchange> exchange_;
  JsonWriter json_;
  std::size_t left_ = kPageBytes;
};

// One client that follows. It is kept by what may wake it: the logs that grow, the job's changes,
// and room in the stream; when the client leaves or all is told, it lets go of them.
class LogFollower : public std::enable_shared_from_this<LogFollower> {
 public:
  LogFollower(SharedContext context, std::shared_ptr<LogReader> reader, JobId job,
              std::shared_ptr<HttpStream> stream)
      : context_(std::move(context)),
        reader_(std::move(reader)),
        job_(job),
        stream_(std::move(stream)) {}

  void begin() {
    const auto self = shared_from_this();
    stream_->on_gone([self] { self->rest(); });
    stream_->on_room([self] { self->pump(); });
    growth_ = context_->options.output->follow(job_, [self] { self->grown(); });
    changes_ = context_->watch(job_, [self] { self->look(); });
    pump();
  }

 private:
  // Logs of other nodes come some time after the job changed.
  void grown() {
    const bool looks = !reader_->knows_any() || ++growths_ % kGrowthsPerLook == 0;
    return looks ? look() : pump();
  }

  void look() {
    reader_->look({}, [self = shared_from_this()](const Result<void>&) { self->pump(); });
  }

  // Whether the job is over, and all it wrote there, is asked before the logs are read.
  void pump() {
    const auto self = shared_from_this();
    if (resting_ || std::exchange(reading_, true)) {
      again_ = true;
      return;
    }
    again_ = false;
    over_ = gathered_;
    if (!gathers_ && is_over_now()) gather();
    read(LogCut::lines);
  }

  [[nodiscard]] bool is_over_now() const {
    const Job* job = context_->state().find_job(job_);
    return job == nullptr || is_over(job->state);
  }

  // What was written on other nodes may still be on its way, whole logs of it.
  void gather() {
    gathers_ = true;
    const auto self = shared_from_this();
    context_->options.output->gather(job_, kFollowerGathers, [self] {
      self->gathered_ = true;
      self->look();
    });
  }

  void read(LogCut cut) {
    if (!stream_->has_room()) return pause();
    reader_->next(kChunkBytes, cut,
                  [self = shared_from_this(), cut](Result<std::optional<LogChunk>> chunk) {
                    self->take(std::move(chunk), cut);
                  });
  }

  void take(Result<std::optional<LogChunk>> chunk, LogCut cut) {
    if (resting_) return;
    if (!chunk) return give_up();
    if (*chunk) {
      JsonWriter json;
      write_chunk(json, **chunk);
      stream_->send({"chunk", reader_->position(), json.take()});
      return read(cut);
    }
    if (!over_) return pause();
    if (cut == LogCut::lines) return read(LogCut::anywhere);
    finish();
  }

  // Until it is woken; at once, if it was while it read.
  void pause() {
    reading_ = false;
    if (again_ && stream_->has_room()) pump();
  }

  void finish() {
    if (const auto job = context_->find(job_)) {
      JsonWriter json;
      json.begin_object().field("state", to_string((*job)->state));
      json.field("exit_code", exit_code_of((*job)->ending)).end_object();
      stream_->send({"end", reader_->position(), json.take()});
    }
    give_up();
  }

  // The client sees the stream end and, unless it was told of the end, asks again.
  void give_up() {
    stream_->end();
    rest();
  }

  void rest() {
    resting_ = true;
    growth_.reset();
    changes_.reset();
  }

  SharedContext context_;
  std::shared_ptr<LogReader> reader_;
  JobId job_;
  std::shared_ptr<HttpStream> stream_;
  std::uint64_t growths_ = 0;
  ListenToken growth_, changes_;
  bool reading_ = false, again_ = false, over_ = false, resting_ = false;
  bool gathers_ = false, gathered_ = false;
};

void show_logs(const SharedContext& context, LogKind kind,
               const std::shared_ptr<Exchange>& exchange) {
  const auto& request = exchange->request();
  const auto job = context->job(request);
  if (!job) return exchange->refuse(job.error());
  const auto wanted = read_query(request);
  if (!wanted) return exchange->refuse(wanted.error());
  const auto id = (*job)->id;
  const auto reader =
      std::make_shared<LogReader>(context->options.output, LogReader::Of{id, kind, wanted->rank},
                                  wanted->offsets, wanted->pieces);
  const auto show = [context, exchange, reader, id, follow = wanted->follow](Result<void> looked) {
    if (!looked) return exchange->refuse(looked.error());
    if (!follow) return std::make_shared<LogPage>(reader, exchange)->fill();
    std::make_shared<LogFollower>(context, reader, id, exchange->stream())->begin();
  };
  const auto look = [reader, show, start = wanted->start] { reader->look(start, show); };
  if (wanted->follow || !is_over((*job)->state)) return look();
  context->options.output->gather(id, kPageGathers, look);
}

}  // namespace

void add_log_routes(Routes& routes, const SharedContext& context) {
  routes.add("GET", "/v1/jobs/{id}/logs", Action::read_private,
             [context](const auto& exchange) { show_logs(context, LogKind::log, exchange); });
  routes.add("GET", "/v1/jobs/{id}/timeline", Action::read_private,
             [context](const auto& exchange) { show_logs(context, LogKind::timeline, exchange); });
}

}  // namespace paceline
