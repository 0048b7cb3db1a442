#include "wire/error_json.hpp"

#include <gtest/gtest.h>

namespace paceline {
namespace {

TEST(ErrorJson, ComesBackEqual) {
  const Error error{ErrorCode::not_found, "There is no job 7.",
                    "List jobs with 'paceline queue --all'.", Retry::useless};
  EXPECT_EQ(error_body(error), R"({"error":{"code":"not_found","message":"There is no job 7.",)"
                               R"("hint":"List jobs with 'paceline queue --all'."}})");
  EXPECT_EQ(read_error(error_body(error)), error);
}

TEST(ErrorJson, EveryCodeHasNameStatusAndExitCode) {
  for (int i = 0; i <= static_cast<int>(ErrorCode::internal); ++i) {
    const auto code = static_cast<ErrorCode>(i);
    EXPECT_EQ(parse_error_code(to_string(code)), code);
    EXPECT_GE(http_status(code), 400);
    EXPECT_GE(exit_code(code), 64);
  }
  EXPECT_EQ(http_status(ErrorCode::storage), 507);
  EXPECT_EQ(exit_code(ErrorCode::conflict), 76);
}

TEST(ErrorJson, AnAlienAnswerIsNobodyThere) {
  for (const auto* body : {"", "<html>", "{}", "[]", R"({"error": 1})",
                           R"({"error": {"code": "odd", "message": "x"}})"}) {
    EXPECT_EQ(read_error(body).code, ErrorCode::unavailable) << body;
  }
}

}  // namespace
}  // namespace paceline
