// Asks the name service about accounts without waiting for it: one that is slow holds up nothing but what
// needs its answer.
//
//   AccountInquiries inquiries(io, find_uid);
//   inquiries.ask("ann", [this](const FoundUid& found) { … });
#pragma once

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <functional>
#include <list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/linux/accounts.hpp"
#include "files/inquiry.hpp"
#include "loop/timer.hpp"
#include "model/node.hpp"

namespace paceline::agent {

// Users about whom the name service is asked at once; the others stand in line.
inline constexpr std::size_t kInquiriesMax = 2 * kStrangersMax;

class AccountInquiries {
 public:
  using Find = std::function<FoundUid(const std::string& user)>;
  using Answered = std::function<void(const FoundUid& found)>;

  // `find` is called on other threads, and what it works on is its own: it may outlive this. REQUIRES:
  // `io` outlives it; one thread runs `io` and makes every call.
  AccountInquiries(boost::asio::io_context& io, Find find);

  // `answered` is called later, on the loop; never, once this is gone. Those who ask about one user share
  // an answer and get it in the order in which they came.
  void ask(const std::string& user, Answered answered);
  // The answer about the user is still to come.
  [[nodiscard]] bool is_asked(const std::string& user) const;

 private:
  using Steady = std::chrono::steady_clock;
  struct Asked {
    explicit Asked(std::string name) : user(std::move(name)) {}
    std::string user;
    std::vector<Answered> answered;
    std::optional<Inquiry<FoundUid>> inquiry;  // nothing: it stands in line
    Steady::time_point since;
    bool late = false;
  };

  void look_after(std::chrono::milliseconds wait);
  void look();
  void begin();
  void warn_of_late();

  Find find_;
  Timer look_;
  std::chrono::milliseconds wait_{};
  std::list<Asked> asked_;
};

}  // namespace paceline::agent
