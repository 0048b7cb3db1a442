// What the collectives compute, on 2 to 16 ranks, for every type and many sizes.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>
#include <tuple>

#include "gang.hpp"

namespace paceline::testing {
namespace {

struct TypeCase {
  paceline_type type;
  std::size_t size;
  const char* name;
};
const std::vector<TypeCase> kTypes{
    {PACELINE_FLOAT32, 4, "float32"}, {PACELINE_FLOAT64, 8, "float64"},
    {PACELINE_FLOAT16, 2, "float16"}, {PACELINE_BFLOAT16, 2, "bfloat16"},
    {PACELINE_INT8, 1, "int8"},       {PACELINE_UINT8, 1, "uint8"},
    {PACELINE_INT32, 4, "int32"},     {PACELINE_INT64, 8, "int64"}};
const std::vector<paceline_op> kOps{PACELINE_SUM, PACELINE_MEAN, PACELINE_MIN, PACELINE_MAX};

// Of half precision, written anew here: IEEE 754 binary16 and the upper half of binary32.
double decode_half(std::uint16_t bits) {
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  const int exponent = (bits >> 10) & 31, fraction = bits & 1023;
  if (exponent == 31) return fraction != 0 ? NAN : sign * INFINITY;
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(1024 + fraction, exponent - 25);
}
std::uint16_t encode_half(int value) {  // whole, from 0 to 2048
  if (value == 0) return 0;
  const int exponent = static_cast<int>(std::bit_width(static_cast<unsigned>(value))) - 1;
  const int fraction = (value << (10 - std::min(exponent, 10))) & 1023;
  return static_cast<std::uint16_t>(((exponent + 15) << 10) | fraction);
}

void put(std::byte* at, paceline_type type, int value) {
  const auto write = [at](auto number) { std::memcpy(at, &number, sizeof number); };
  switch (type) {
    case PACELINE_FLOAT32:
      return write(static_cast<float>(value));
    case PACELINE_FLOAT64:
      return write(static_cast<double>(value));
    case PACELINE_FLOAT16:
      return write(encode_half(value));
    case PACELINE_BFLOAT16:
      return write(static_cast<std::uint16_t>(
          std::bit_cast<std::uint32_t>(static_cast<float>(value)) >> 16));
    case PACELINE_INT8:
      return write(static_cast<std::int8_t>(value));
    case PACELINE_UINT8:
      return write(static_cast<std::uint8_t>(value));
    case PACELINE_INT32:
      return write(static_cast<std::int32_t>(value));
    case PACELINE_INT64:
      return write(static_cast<std::int64_t>(value));
  }
}

double get(const std::byte* at, paceline_type type) {
  const auto read = [at]<class T>(T number) {
    std::memcpy(&number, at, sizeof number);
    return number;
  };
  switch (type) {
    case PACELINE_FLOAT32:
      return static_cast<double>(read(float{}));
    case PACELINE_FLOAT64:
      return read(double{});
    case PACELINE_FLOAT16:
      return decode_half(read(std::uint16_t{}));
    case PACELINE_BFLOAT16:
      return static_cast<double>(
          std::bit_cast<float>(static_cast<std::uint32_t>(read(std::uint16_t{})) << 16));
    case PACELINE_INT8:
      return read(std::int8_t{});
    case PACELINE_UINT8:
      return read(std::uint8_t{});
    case PACELINE_INT32:
      return read(std::int32_t{});
    case PACELINE_INT64:
      return static_cast<double>(read(std::int64_t{}));
  }
  return NAN;
}

// Small whole numbers, whose sums every type holds.
int given(int rank, std::size_t index) {
  return static_cast<int>((static_cast<std::size_t>(rank) * 5 + index * 3 + index / 7) % 7);
}

double wanted(int ranks, std::size_t index, paceline_op op) {
  double sum = 0, least = INFINITY, greatest = -INFINITY;
  for (int rank = 0; rank < ranks; ++rank) {
    const double value = given(rank, index);
    sum += value;
    least = std::min(least, value);
    greatest = std::max(greatest, value);
  }
  switch (op) {
    case PACELINE_SUM:
      return sum;
    case PACELINE_MEAN:
      return sum / ranks;
    case PACELINE_MIN:
      return least;
    case PACELINE_MAX:
      return greatest;
  }
  return NAN;
}

bool is_whole(paceline_type type) { return type >= PACELINE_INT8; }

// Of a mean in that type.
double tolerance(paceline_type type) {
  switch (type) {
    case PACELINE_FLOAT16:
      return 0.005;
    case PACELINE_BFLOAT16:
      return 0.05;
    case PACELINE_FLOAT32:
      return 1e-6;
    default:
      return is_whole(type) ? 0 : 1e-12;
  }
}

void check(const std::byte* data, std::size_t count, const TypeCase& type, paceline_op op,
           int ranks, std::size_t first, const std::string& what) {
  for (std::size_t i = 0; i < count; ++i) {
    double expected = wanted(ranks, first + i, op);
    if (is_whole(type.type)) expected = std::trunc(expected);
    const double allowed = op == PACELINE_MEAN ? tolerance(type.type) : 0;
    const double found = get(data + i * type.size, type.type);
    if (!(std::abs(found - expected) <= allowed)) {
      ADD_FAILURE() << what << ", element " << i << ": " << found << " instead of " << expected;
      return;
    }
  }
}

std::vector<std::byte> filled(int rank, std::size_t count, const TypeCase& type) {
  std::vector<std::byte> data(count * type.size + 1);
  for (std::size_t i = 0; i < count; ++i)
    put(data.data() + i * type.size, type.type, given(rank, i));
  return data;
}

// Runs a raw call of the C ABI.
template <class Call>
void demand(Call call) {
  paceline_error error;
  if (call(&error) != 0) throw GroupError(error);
}

// The raw handle, for types that C++ has no name for: a group of the test's own.
struct Raw {
  paceline_group* group = nullptr;
  int rank = 0;
};
template <class Run>
void on_raw_gang(int size, Where where, Run run) {
  std::vector<Raw> members(static_cast<std::size_t>(size));
  std::vector<std::string> texts;
  std::vector<const char*> endpoints;
  for (int rank = 0; rank < size; ++rank) {
    paceline_group_options options{rank,           size,        1,     kSecret.data(),
                                   kSecret.size(), "127.0.0.1", 60'000};
    auto& member = members[static_cast<std::size_t>(rank)];
    member = {paceline_group_open(&options, nullptr), rank};
    ASSERT_NE(member.group, nullptr);
    texts.emplace_back(paceline_group_endpoint(member.group));
  }
  place(texts, where);
  for (const auto& each : texts) endpoints.push_back(each.c_str());
  std::vector<std::thread> threads;
  for (const auto& member : members)
    threads.emplace_back([&, member] {
      paceline_error error;
      if (paceline_group_connect(member.group, endpoints.data(), &error) != 0) {
        ADD_FAILURE() << error.message;
        return;
      }
      try {
        run(member.group, member.rank);
      } catch (const GroupError& failed) {
        ADD_FAILURE() << "rank " << member.rank << ": " << failed.what();
      }
    });
  for (auto& each : threads) each.join();
  for (const auto& member : members) paceline_group_close(member.group);
}

class CollectivesTest : public ::testing::TestWithParam<std::tuple<int, Where>> {
 protected:
  [[nodiscard]] int ranks() const { return std::get<0>(GetParam()); }
  [[nodiscard]] Where where() const { return std::get<1>(GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(Ranks, CollectivesTest,
                         ::testing::Combine(::testing::Values(1, 2, 3, 4, 5, 7, 8, 11, 16),
                                            ::testing::Values(Where::one_host, Where::two_hosts)));

TEST_P(CollectivesTest, AllReduceOfEveryTypeAndOperation) {
  on_raw_gang(ranks(), where(), [&](paceline_group* group, int rank) {
    for (const auto& type : kTypes)
      for (const auto op : kOps)
        for (const std::size_t count : std::vector<std::size_t>{0, 1, 2, 13, 257, 5003, 20'011}) {
          auto data = filled(rank, count, type);
          demand([&](auto* error) {
            return paceline_all_reduce(group, data.data(), count, type.type, op, error);
          });
          check(data.data(), count, type, op, ranks(), 0,
                std::string(type.name) + " of " + std::to_string(count));
        }
  });
}

// Larger than every buffer on the way.
TEST_P(CollectivesTest, AllReduceOfMuch) {
  on_raw_gang(ranks(), where(), [&](paceline_group* group, int rank) {
    for (const auto& type : {kTypes[0], kTypes[3]})
      for (const std::size_t count : std::vector<std::size_t>{131'072, 300'007, 1'000'003}) {
        auto data = filled(rank, count, type);
        demand([&](auto* error) {
          return paceline_all_reduce(group, data.data(), count, type.type, PACELINE_MEAN, error);
        });
        check(data.data(), count, type, PACELINE_MEAN, ranks(), 0, type.name);
      }
  });
}

TEST_P(CollectivesTest, AllRanksGetTheSameBitsEachTime) {
  constexpr std::size_t kCounts[] = {3, 1'009, 60'013, 400'009};
  for (const auto count : kCounts) {
    std::vector<std::vector<float>> results;
    for (int repeat = 0; repeat < 2; ++repeat) {
      std::vector<std::vector<float>> data(static_cast<std::size_t>(ranks()));
      Gang gang(
          ranks(),
          [&](Group& group) {
            auto& mine = data[static_cast<std::size_t>(group.rank())];
            std::mt19937 random(static_cast<unsigned>(group.rank()));
            std::normal_distribution<float> normal;
            mine.resize(count);
            for (auto& each : mine) each = normal(random);
            group.all_reduce(std::span(mine), Op::mean);
          },
          where());
      results.insert(results.end(), data.begin(), data.end());
    }
    for (const auto& each : results)
      EXPECT_EQ(std::memcmp(each.data(), results[0].data(), count * sizeof(float)), 0) << count;
  }
}

TEST_P(CollectivesTest, ManyTensorsAtOnce) {
  Gang gang(
      ranks(),
      [&](Group& group) {
        const auto filled = [](const std::vector<std::size_t>& counts, int factor) {
          std::vector<std::vector<std::int32_t>> tensors;
          for (const auto count : counts) {
            auto& tensor = tensors.emplace_back(count);
            for (std::size_t i = 0; i < count; ++i)
              tensor[i] = factor * static_cast<std::int32_t>(tensors.size() + i % 1'009);
          }
          return tensors;
        };
        for (const auto& counts : std::vector<std::vector<std::size_t>>{
                 {5, 0, 1, 70'000, 3, 2'000'000, 11}, {0, 7, 1'000, 0}, {0, 0}, {65'536, 65'536}}) {
          auto tensors = filled(counts, group.rank() + 1);
          std::vector<std::span<std::int32_t>> spans(tensors.begin(), tensors.end());
          group.all_reduce(std::span<const std::span<std::int32_t>>(spans), Op::sum);
          EXPECT_EQ(tensors, filled(counts, ranks() * (ranks() + 1) / 2));
        }
      },
      where());
}

TEST_P(CollectivesTest, BroadcastFromEachRank) {
  Gang gang(
      ranks(),
      [&](Group& group) {
        for (int root = 0; root < ranks(); ++root)
          for (const std::size_t count :
               std::vector<std::size_t>{0, 1, 1'000, 100'003, 1'500'000}) {
            std::vector<std::uint8_t> data(count, static_cast<std::uint8_t>(group.rank() + 1));
            group.broadcast(std::span(data), root);
            EXPECT_EQ(data, std::vector<std::uint8_t>(count, static_cast<std::uint8_t>(root + 1)));
          }
      },
      where());
}

TEST_P(CollectivesTest, AllGather) {
  Gang gang(
      ranks(),
      [&](Group& group) {
        for (const std::size_t count : std::vector<std::size_t>{0, 1, 999, 200'003}) {
          const std::vector<std::int64_t> mine(count, group.rank());
          std::vector<std::int64_t> all(count * static_cast<std::size_t>(ranks()), -1);
          group.all_gather(std::span(mine), std::span(all));
          for (std::size_t i = 0; i < all.size(); ++i)
            ASSERT_EQ(all[i], static_cast<std::int64_t>(i / count));
        }
      },
      where());
}

TEST_P(CollectivesTest, ReduceScatter) {
  on_raw_gang(ranks(), where(), [&](paceline_group* group, int rank) {
    for (const auto& type : kTypes)
      for (const auto op : kOps)
        for (const std::size_t count : std::vector<std::size_t>{0, 1, 17, 9'001}) {
          const auto all = filled(rank, count * static_cast<std::size_t>(ranks()), type);
          std::vector<std::byte> mine(count * type.size + 1);
          demand([&](auto* error) {
            return paceline_reduce_scatter(group, all.data(), mine.data(), count, type.type, op,
                                           error);
          });
          check(mine.data(), count, type, op, ranks(), count * static_cast<std::size_t>(rank),
                type.name);
        }
  });
}

TEST_P(CollectivesTest, NobodyPassesABarrierEarly) {
  std::atomic<int> came = 0;
  Gang gang(
      ranks(),
      [&](Group& group) {
        for (int round = 1; round <= 20; ++round) {
          ++came;
          group.barrier();
          EXPECT_GE(came, round * ranks());
          group.barrier();
        }
      },
      where());
}

TEST_P(CollectivesTest, MessagesBetweenAnyTwo) {
  Gang gang(
      ranks(),
      [&](Group& group) {
        for (int from = 0; from < ranks(); ++from)
          for (int to = 0; to < ranks(); ++to) {
            if (from == to) continue;
            std::vector<int> data(30'000, from * 100 + to);
            if (group.rank() == from) group.send(std::span<const int>(data), to);
            if (group.rank() != to) continue;
            std::vector<int> came(data.size());
            group.receive(std::span(came), from);
            EXPECT_EQ(came, data);
          }
      },
      where());
}

TEST_P(CollectivesTest, StartedOperationsRunInTheirOrder) {
  Gang gang(
      ranks(),
      [&](Group& group) {
        std::vector<std::vector<double>> tensors;
        std::vector<Group::Ticket> tickets;
        for (std::size_t i = 0; i < 20; ++i)
          tensors.emplace_back(i * 997, group.rank() + static_cast<double>(i));
        for (auto& each : tensors)
          tickets.push_back(group.start_all_reduce(std::span(each), Op::max));
        std::vector<double> last{static_cast<double>(group.rank())};
        group.all_reduce(std::span(last), Op::sum);
        EXPECT_EQ(last[0], ranks() * (ranks() - 1) / 2);
        for (std::size_t i = tensors.size(); i-- > 0;) {
          group.wait(tickets[i]);
          EXPECT_EQ(tensors[i],
                    std::vector<double>(tensors[i].size(), ranks() - 1 + static_cast<double>(i)));
        }
        EXPECT_THROW(group.wait(tickets[0]), GroupError);
      },
      where());
}

TEST(Collectives, NaNsAreNotLost) {
  for (const auto op : {Op::min, Op::max, Op::sum})
    for (int bad = 0; bad < 3; ++bad)
      Gang gang(3, [&](Group& group) {
        std::vector<float> data{group.rank() == bad ? NAN : 1.0F, 2.0F};
        group.all_reduce(std::span(data), op);
        EXPECT_TRUE(std::isnan(data[0]));
        EXPECT_FALSE(std::isnan(data[1]));
      });
}

TEST(Collectives, GroupsWithoutAllConnections) {
  Gang gang(70, [&](Group& group) {
    std::vector<int> data(40'000, 1);
    group.all_reduce(std::span(data), Op::sum);
    EXPECT_EQ(data, std::vector<int>(data.size(), 70));
    // 0 and 37 are no neighbours.
    std::vector<int> word{group.rank()};
    if (group.rank() == 37) group.send(std::span<const int>(word), 0);
    if (group.rank() == 0) group.receive(std::span(word), 37);
    EXPECT_TRUE(group.rank() != 0 || word[0] == 37);
    group.barrier();
  });
}

// Each member on a host of its own.
TEST(Collectives, OverTcp) {
  Gang gang(4);
  std::vector<std::string> endpoints = gang.endpoints();
  for (std::size_t i = 0; i < endpoints.size(); ++i)
    endpoints[i].replace(0, endpoints[i].find(','), "elsewhere" + std::to_string(i));
  const auto connected = gang.run([&](Group& group) {
    group.connect(endpoints);
    for (const std::size_t count : std::vector<std::size_t>{1, 100'003, 700'001}) {
      std::vector<float> data(count, 1);
      group.all_reduce(std::span(data), Op::sum);
      EXPECT_EQ(data, std::vector<float>(count, 4));
    }
  });
  for (const auto& each : connected) EXPECT_TRUE(each.well()) << each.message();
}

// What goes over the board and what goes over connections, one after the other.
TEST(Collectives, OfAllKindsInAnyOrder) {
  for (const auto where : {Where::one_host, Where::two_hosts})
    Gang gang(
        5,
        [](Group& group) {
          std::mt19937 random(9);
          std::vector<std::int64_t> all(5 * 3'000);
          for (int round = 0; round < 300; ++round) {
            const std::size_t count = 1 + random() % (round % 10 == 0 ? 100'000 : 3'000);
            const auto root = static_cast<int>(random() % 5);
            std::vector<std::int64_t> data(count, group.rank() + round);
            switch (random() % 5) {
              case 0:
                group.broadcast(std::span(data), root);
                ASSERT_EQ(data, std::vector<std::int64_t>(count, root + round));
                break;
              case 1:
                group.barrier();
                break;
              case 2:
                data.resize(std::min<std::size_t>(count, 3'000));
                group.all_gather(std::span<const std::int64_t>(data),
                                 std::span(all).first(5 * data.size()));
                ASSERT_EQ(all[5 * data.size() - 1], 4 + round);
                break;
              default:
                group.all_reduce(std::span(data), Op::max);
                ASSERT_EQ(data, std::vector<std::int64_t>(count, 4 + round));
            }
          }
        },
        where);
}

}  // namespace
}  // namespace paceline::testing
