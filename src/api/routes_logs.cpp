// Logs: pieces of them by byte offsets, and following them while they grow.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "api/context.hpp"
#include "api/log_files.hpp"
#include "api/query.hpp"

namespace paceline {
namespace {

constexpr std::size_t kChunkBytes = 64 << 10;
constexpr std::size_t kPageBytes = 1 << 20;
constexpr std::uint32_t kAskedRankMax = LogFiles::kRanksMax - 1;

using Offsets = std::map<std::int32_t, std::uint64_t>;

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
    if (!rank || !offset || offsets.size() >= LogFiles::kRanksMax) return {};
    offsets[static_cast<std::int32_t>(*rank)] = *offset;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return offsets;
}

std::string offsets_text(const Offsets& offsets) {
  std::string text;
  for (const auto& [rank, offset] : offsets) {
    text += fmt::format("{}{}:{}", text.empty() ? "" : ",", rank, offset);
  }
  return text;
}

struct LogQuery {
  std::optional<std::uint32_t> rank;
  Offsets offsets;
  bool follow = false;
  std::optional<std::uint64_t> tail_bytes;
};

Result<LogQuery> read_query(const ApiRequest& request) {
  LogQuery wanted;
  std::string offsets;
  QueryReader query(request);
  query.whole("rank", wanted.rank, 0, kAskedRankMax).text("offset", offsets, kPageBytes);
  query.flag("follow", wanted.follow);
  query.whole("tail_bytes", wanted.tail_bytes, 0, std::numeric_limits<std::uint64_t>::max());
  // A client that lost its stream says where it was.
  if (const auto last = request.header("Last-Event-ID"); !last.empty()) offsets = last;
  const auto read = parse_offsets(offsets);
  if (!read) query.refuse("offset", "RANK:BYTES,… like 0:1024,1:0");
  if (auto done = query.finish(); !done) return fail(done.error());
  wanted.offsets = *read;
  return wanted;
}

// Where in a job's logs somebody is.
class LogCursor {
 public:
  LogCursor(LogFiles files, const LogQuery& wanted)
      : files_(std::move(files)), rank_(wanted.rank), offsets_(wanted.offsets) {
    look();
    if (!wanted.tail_bytes) return;
    for (auto& [rank, offset] : offsets_) {
      if (!wanted.offsets.contains(rank)) offset = files_.tail(rank, *wanted.tail_bytes);
    }
  }

  // Finds logs that appeared since.
  void look() {
    for (const auto rank : files_.ranks()) {
      if (!rank_ || *rank_ == static_cast<std::uint32_t>(rank)) offsets_.try_emplace(rank, 0);
    }
  }

  // The ranks take turns, so that a talkative one does not drown the others.
  std::optional<LogChunk> next(std::size_t bytes_max, LogFiles::Cut cut) {
    auto turn = offsets_.upper_bound(last_);
    for (std::size_t i = 0; i < offsets_.size(); ++i, ++turn) {
      if (turn == offsets_.end()) turn = offsets_.begin();
      auto& [rank, offset] = *turn;
      if (rank_ && *rank_ != static_cast<std::uint32_t>(rank)) continue;
      auto chunk = files_.read(rank, offset, bytes_max, cut);
      if (!chunk) continue;
      offset = chunk->next;
      last_ = rank;
      return chunk;
    }
    return {};
  }

  [[nodiscard]] std::string position() const { return offsets_text(offsets_); }

 private:
  LogFiles files_;
  std::optional<std::uint32_t> rank_;
  Offsets offsets_;
  std::int32_t last_ = -1;  // whose turn it was
};

void write_chunk(JsonWriter& json, const LogChunk& chunk) {
  json.begin_object().field("rank", chunk.rank).field("offset", chunk.offset);
  json.field("next", chunk.next).field("text", chunk.text).end_object();
}

std::string show_log(LogCursor cursor) {
  JsonWriter json;
  json.begin_object().key("chunks").begin_array();
  std::size_t left = kPageBytes;
  while (left > 0) {
    const auto chunk = cursor.next(left, LogFiles::Cut::anywhere);
    if (!chunk) break;
    write_chunk(json, *chunk);
    left -= std::min<std::size_t>(left, chunk->next - chunk->offset);
  }
  json.end_array().end_object();
  return json.take();
}

// One client that follows. It is kept by what may wake it: the ticker, the job's changes, and room
// in the stream; when the client leaves or all is told, it lets go of them.
class LogFollower : public std::enable_shared_from_this<LogFollower> {
 public:
  LogFollower(SharedContext context, LogCursor cursor, JobId job, std::shared_ptr<ApiStream> stream)
      : context_(std::move(context)),
        cursor_(std::move(cursor)),
        job_(job),
        stream_(std::move(stream)) {}

  void begin() {
    const auto self = shared_from_this();
    stream_->on_gone([self] { self->rest(); });
    stream_->on_room([self] { self->pump(); });
    beat_ = context_->ticker.listen([self] { self->pump(); });
    changes_ = context_->watch(job_, [self] {
      self->cursor_.look();
      self->pump();
    });
    pump();
  }

 private:
  // Whether the job is over is asked before the files are read: what it wrote is there by then.
  void pump() {
    const auto self = shared_from_this();
    const bool over = is_over(context_->state().job(job_).state);
    send_all(LogFiles::Cut::lines);
    if (!over || !stream_->has_room()) return;
    send_all(LogFiles::Cut::anywhere);
    if (stream_->has_room()) finish();
  }

  void send_all(LogFiles::Cut cut) {
    while (stream_->has_room()) {
      const auto chunk = cursor_.next(kChunkBytes, cut);
      if (!chunk) return;
      JsonWriter json;
      write_chunk(json, *chunk);
      stream_->send({"chunk", cursor_.position(), json.take()});
    }
  }

  void finish() {
    const auto& job = context_->state().job(job_);
    JsonWriter json;
    json.begin_object().field("state", to_string(job.state));
    json.field("exit_code", exit_code_of(job.ending)).end_object();
    stream_->send({"end", cursor_.position(), json.take()});
    stream_->end();
    rest();
  }

  void rest() {
    beat_.reset();
    changes_.reset();
  }

  SharedContext context_;
  LogCursor cursor_;
  JobId job_;
  std::shared_ptr<ApiStream> stream_;
  ListenToken beat_, changes_;
};

void show_logs(const SharedContext& context, const std::shared_ptr<Exchange>& exchange) {
  const auto& request = exchange->request();
  const auto job = context->own_job(request);
  if (!job) return exchange->refuse(job.error());
  const auto wanted = read_query(request);
  if (!wanted) return exchange->refuse(wanted.error());
  const auto id = (*job)->id;
  LogCursor cursor(LogFiles(context->options.directory, id), *wanted);
  if (!wanted->follow) return exchange->reply({.body = show_log(std::move(cursor))});
  std::make_shared<LogFollower>(context, std::move(cursor), id, exchange->stream())->begin();
}

}  // namespace

void add_log_routes(Router& router, const SharedContext& context) {
  router.add("GET", "/v1/jobs/{id}/logs",
             [context](const auto& exchange) { show_logs(context, exchange); });
}

}  // namespace paceline
