#include "sim/traces/profiles.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <numeric>
#include <optional>
#include <system_error>

#include "sim/traces/csv.hpp"
#include "sim/traces/csv_row.hpp"
#include "sim/traces/packed_file.hpp"
#include "sim/traces/values.hpp"

namespace paceline::sim {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kCountMax = 1'000'000'000;  // of samples or replicas
constexpr std::int64_t kReplicasMax = 1'000'000;
constexpr int kFoldersDeepMax = 4;

struct Sum {
  StepTime time;
  int measured = 0;

  void add(StepTime more) {
    time.seconds += more.seconds;
    time.sync_seconds += more.sync_seconds;
    ++measured;
  }
  [[nodiscard]] StepTime mean() const {
    return {time.seconds / measured, time.sync_seconds / measured};
  }
};
using Sums = std::map<std::int64_t, Sum>;  // by local batch

StepTimes means(const Sums& sums) {
  StepTimes times;
  for (const auto& [local_batch, sum] : sums) times[local_batch] = sum.mean();
  return times;
}

// What was read of one application so far.
struct Measured {
  std::map<std::vector<std::int32_t>, Sums> placements;
  std::map<std::int32_t, std::map<std::int32_t, Sums>> scales;
  std::map<std::int64_t, std::vector<ValidationPoint>> validations;

  [[nodiscard]] Profile profile(const std::string& application) const {
    Profile profile{application, {}, {}, validations, {}};
    for (const auto& [gang, sums] : placements) profile.placements[gang] = means(sums);
    for (const auto& [nodes, by_replicas] : scales)
      for (const auto& [replicas, sums] : by_replicas)
        profile.scales[nodes][replicas] = means(sums);
    return profile;
  }
};

// From 1 to `most`; 1 if it can't be read.
std::int64_t positive(CsvRow& row, std::string_view column, std::int64_t most = kCountMax) {
  const std::int64_t value = row.count(column);
  if (value < 1) row.refuse(column, "is not above 0");
  if (value > most) row.refuse(column, "is too large");
  return row.refusal() ? 1 : value;
}

StepTime step_of(CsvRow& row) {
  const StepTime time{row.number("step_time"), row.number("sync_time")};
  if (!(time.seconds > 0)) row.refuse("step_time", "is not above 0");
  if (time.sync_seconds < 0) row.refuse("sync_time", "is negative");
  if (time.sync_seconds > time.seconds) row.refuse("sync_time", "is longer than its step");
  return time;
}

// "213" is {1, 2, 3}.
std::vector<std::int32_t> gang_of(CsvRow& row) {
  const std::string_view text = row.raw("placement");
  if (text.empty() || text.size() > 64 ||
      text.find_first_not_of("123456789") != std::string_view::npos)
    row.refuse("placement", "is not the replicas on each node, 1 to 9, such as 123");
  if (row.refusal()) return {};
  std::vector<std::int32_t> gang;
  for (const char digit : text) gang.push_back(digit - '0');
  std::sort(gang.begin(), gang.end());
  return gang;
}

void take_placement(Measured& measured, CsvRow& row) {
  const auto gang = gang_of(row);
  const std::int64_t local_batch = positive(row, "local_bsz");
  const StepTime time = step_of(row);
  if (row.refusal()) return;
  measured.placements[gang][local_batch].add(time);
  const auto nodes = static_cast<std::int32_t>(gang.size());
  measured.scales[nodes][std::accumulate(gang.begin(), gang.end(), 0)][local_batch].add(time);
}

void take_scale(Measured& measured, CsvRow& row) {
  const std::int64_t nodes = positive(row, "num_nodes", kReplicasMax);
  const std::int64_t replicas = positive(row, "num_replicas", kReplicasMax);
  if (replicas < nodes) row.refuse("num_replicas", "is less than one for each node");
  const std::int64_t local_batch = positive(row, "local_bsz");
  const StepTime time = step_of(row);
  if (row.refusal()) return;
  measured
      .scales[static_cast<std::int32_t>(nodes)][static_cast<std::int32_t>(replicas)][local_batch]
      .add(time);
}

void take_validation(std::vector<ValidationPoint>& points, CsvRow& row) {
  const ValidationPoint point{row.number("progress"), row.number("iteration"), row.number("metric"),
                              row.number("grad_sqr"), row.number("grad_var")};
  const ValidationPoint before = points.empty() ? ValidationPoint{} : points.back();
  if (!(point.progress > before.progress)) row.refuse("progress", "does not rise");
  if (!(point.iteration > before.iteration)) row.refuse("iteration", "does not rise");
  if (point.grad_sqr < 0) row.refuse("grad_sqr", "is negative");
  if (point.grad_var < 0) row.refuse("grad_var", "is negative");
  if (!row.refusal()) points.push_back(point);
}

enum class Kind { placements, scalability, validation };

// What a file's name says it holds.
struct FileName {
  Kind kind;
  std::string device;      // empty: of the only one
  std::int64_t batch = 0;  // of a validation
};

// "placements.csv", "scalability-rtx.csv", "validation-128.csv"
std::optional<FileName> parse_file_name(std::string_view file) {
  constexpr std::array kKinds = {std::pair{std::string_view("placements"), Kind::placements},
                                 std::pair{std::string_view("scalability"), Kind::scalability},
                                 std::pair{std::string_view("validation"), Kind::validation}};
  constexpr std::string_view kEnd = ".csv";
  if (!file.ends_with(kEnd)) return std::nullopt;
  file.remove_suffix(kEnd.size());
  const std::size_t dash = std::min(file.find('-'), file.size());
  const auto name = std::find_if(kKinds.begin(), kKinds.end(), [&](const auto& each) {
    return each.first == file.substr(0, dash);
  });
  if (name == kKinds.end() || dash + 1 == file.size()) return std::nullopt;
  const std::string_view rest = dash < file.size() ? file.substr(dash + 1) : std::string_view();
  if (name->second != Kind::validation) return FileName{name->second, std::string(rest), 0};
  const auto batch = parse_count(rest);
  if (!batch || *batch < 1 || *batch > kCountMax) return std::nullopt;
  return FileName{Kind::validation, "", *batch};
}

bool is_of_a_profile(const fs::path& name) {
  return !name.parent_path().filename().empty() && parse_file_name(name.filename().string());
}

// What a file of a profile holds: its columns, and where its rows go.
struct Table {
  std::vector<std::string_view> columns;
  std::function<void(CsvRow&)> take;
};

class ProfileReader {
 public:
  // `name` in its folder; `where` for messages. REQUIRES: is_of_a_profile(name).
  Result<void> take_file(PackedFile& file, const fs::path& name, const std::string& where) {
    if (++files_ > kProfileFilesMax)
      return fail(ErrorCode::too_large,
                  fmt::format("{} is one of over {} files.", where, kProfileFilesMax));
    CsvReader csv([&file] { return file.read(); }, {});
    const auto header = csv.next();
    if (!header) return fail(header.error());
    if (*header != CsvNext::record) return refused(where, csv.line(), " is no header");
    const std::vector<std::string> columns(csv.fields().begin(), csv.fields().end());
    const Table table = table_of(name);
    for (const std::string_view wanted : table.columns)
      if (std::find(columns.begin(), columns.end(), wanted) == columns.end())
        return refused(where, csv.line(), fmt::format(" has no column '{}'", wanted));
    return take_rows(csv, columns, table, where);
  }

  Result<Profiles> profiles(const std::string& path) const {
    Profiles all;
    const auto found = measured_.find("");
    if (found == measured_.end()) return none(path);
    for (const auto& [application, measured] : found->second) {
      Profile& profile = all[application] = measured.profile(application);
      if (const auto sound = check_profile(profile); !sound) return fail(sound.error());
      profile.fit = fit_steps(step_points(profile));
    }
    return all;
  }

  Result<std::map<std::string, Profiles>> device_profiles(const std::string& path) const {
    std::map<std::string, Profiles> all;
    for (const auto& [device, applications] : measured_) {
      if (device.empty()) continue;
      for (const auto& [application, measured] : applications)
        all[device][application] = measured.profile(application);
    }
    if (all.empty())
      return fail(ErrorCode::invalid, fmt::format("'{}' holds no profiles of devices.", path),
                  "A profile is a folder with placements-DEVICE.csv or scalability-DEVICE.csv.");
    return all;
  }

 private:
  static tl::unexpected<Error> none(const std::string& path) {
    return fail(ErrorCode::invalid, fmt::format("'{}' holds no profiles.", path),
                "A profile is a folder with placements.csv or scalability.csv, and "
                "validation-B.csv.");
  }

  Table table_of(const fs::path& name) {
    const FileName file = *parse_file_name(name.filename().string());
    Measured& to = measured_[file.device][name.parent_path().filename().string()];
    if (file.kind == Kind::placements)
      return {{"placement", "local_bsz", "step_time", "sync_time"},
              [&to](CsvRow& row) { take_placement(to, row); }};
    if (file.kind == Kind::scalability)
      return {{"num_nodes", "num_replicas", "local_bsz", "step_time", "sync_time"},
              [&to](CsvRow& row) { take_scale(to, row); }};
    return {{"progress", "iteration", "metric", "grad_sqr", "grad_var"},
            [&points = to.validations[file.batch]](CsvRow& row) { take_validation(points, row); }};
  }

  Result<void> take_rows(CsvReader& csv, const std::vector<std::string>& columns,
                         const Table& table, const std::string& where) {
    for (;;) {
      const auto next = csv.next();
      if (!next) return fail(next.error());
      if (*next == CsvNext::end) return {};
      if (*next != CsvNext::record)
        return refused(where, csv.line(), fmt::format(" {}", csv.fault()));
      if (csv.fields().size() != columns.size())
        return refused(where, csv.line(),
                       fmt::format(" has {} columns, the first line has {}", csv.fields().size(),
                                   columns.size()));
      if (++rows_ > kProfileRowsMax)
        return fail(ErrorCode::too_large,
                    fmt::format("{} is beyond {} rows in all.", where, kProfileRowsMax));
      CsvRow row(columns, csv.fields());
      table.take(row);
      if (row.refusal()) return refused(where, csv.line(), ", " + *row.refusal());
    }
  }

  static tl::unexpected<Error> refused(const std::string& where, std::int64_t line,
                                       const std::string& what) {
    return fail(ErrorCode::invalid, fmt::format("{}, line {}{}.", where, line, what));
  }

  std::map<std::string, std::map<std::string, Measured>> measured_;  // by device and application
  std::size_t files_ = 0;
  std::size_t rows_ = 0;
};

// The files of profiles below a folder, in order.
Result<std::vector<fs::path>> files_below(const std::string& path) {
  std::vector<fs::path> files;
  std::error_code wrong;
  fs::recursive_directory_iterator at(path, wrong), end;
  while (!wrong && at != end) {
    if (at.depth() >= kFoldersDeepMax) at.disable_recursion_pending();
    if (is_of_a_profile(at->path()) && at->is_regular_file(wrong)) files.push_back(at->path());
    at.increment(wrong);
  }
  if (wrong)
    return fail(ErrorCode::storage, fmt::format("'{}' can't be read: {}.", path, wrong.message()));
  std::sort(files.begin(), files.end());
  return files;
}

Result<void> take_folder(ProfileReader& reader, const std::string& path) {
  const auto files = files_below(path);
  if (!files) return fail(files.error());
  for (const fs::path& name : *files) {
    auto file = PackedFile::open(name.string());
    if (!file) return fail(file.error());
    const auto there = file->next();
    if (!there) return fail(there.error());
    const auto taken = reader.take_file(*file, name, fmt::format("'{}'", name.string()));
    if (!taken) return taken;
  }
  return {};
}

Result<void> take_tar(ProfileReader& reader, const std::string& path) {
  auto file = PackedFile::open(path);
  if (!file) return fail(file.error());
  for (;;) {
    const auto there = file->next();
    if (!there) return fail(there.error());
    if (!*there) return {};
    if (file->member().empty())
      return fail(ErrorCode::invalid,
                  fmt::format("'{}' is neither a folder of profiles nor a tar of one.", path));
    if (!is_of_a_profile(file->member())) continue;
    const auto taken = reader.take_file(
        *file, file->member(), fmt::format("{} in '{}'", quoted_value(file->member()), path));
    if (!taken) return taken;
  }
}

Result<ProfileReader> read(const std::string& path) {
  ProfileReader reader;
  std::error_code unknown;
  const auto taken =
      fs::is_directory(path, unknown) ? take_folder(reader, path) : take_tar(reader, path);
  if (!taken) return fail(taken.error());
  return reader;
}

}  // namespace

Result<Profiles> read_profiles(const std::string& path) {
  const auto reader = read(path);
  if (!reader) return fail(reader.error());
  return reader->profiles(path);
}

Result<std::map<std::string, Profiles>> read_device_profiles(const std::string& path) {
  const auto reader = read(path);
  if (!reader) return fail(reader.error());
  return reader->device_profiles(path);
}

}  // namespace paceline::sim
