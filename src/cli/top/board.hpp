// The screen of `paceline top`: from what was told and the keys that were pressed to rows. It knows
// no terminal and no server, and changes nothing but itself.
//
//   Board board({.filter = {}, .ended = false});
//   board.told(news);
//   if (!board.press(key)) return;               // it is left
//   feed.wish(board.wish());
//   for (const auto& row : board.draw(paper)) …  // as many as the paper has lines
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/top/cluster.hpp"
#include "cli/top/filter.hpp"
#include "cli/top/log_text.hpp"
#include "cli/top/news.hpp"
#include "cli/top/pager.hpp"
#include "cli/top/queue_pane.hpp"
#include "cli/top/slots_pane.hpp"

namespace paceline {

class Board {
 public:
  struct Begin {
    Filter filter = {};
    bool ended = false;    // jobs that are over, too
    std::int64_t uid = 0;  // of the viewer
  };
  explicit Board(Begin begin);

  void told(BoardNews news);
  // False: the user leaves.
  bool press(const Key& key);
  // After draw(): what is on the screen is what is seen.
  [[nodiscard]] BoardWish wish() const;
  Rows draw(const Paper& paper);
  // All of it below each other, as wide as it is, without anything to press.
  Rows draw_whole(Paper paper);

 private:
  enum class Pane { slots, queue };
  enum class View { board, page, log, help };

  bool press_board(const Key& key);
  void press_filter(const Key& key);
  bool press_view(const Key& key);
  void press_log(const Key& key);
  void open(std::int64_t job);
  void open_page();
  void open_log();
  void read_log_of(std::optional<std::int64_t> rank);
  void set_filter(const std::string& text);
  void keep_cursor();
  [[nodiscard]] View view() const { return views_.empty() ? View::board : views_.back(); }
  [[nodiscard]] std::optional<std::int64_t> selected() const;
  [[nodiscard]] const Document& open_job() const;
  [[nodiscard]] std::int64_t ranks() const;

  Rows draw_board(const Paper& paper);
  Rows draw_beside(const Paper& paper);
  Rows draw_below(const Paper& paper);
  Rows draw_view(const Paper& paper);
  [[nodiscard]] std::string sentence(const Paper& paper) const;
  [[nodiscard]] std::string view_title(const Paper& paper) const;
  [[nodiscard]] std::string bottom(const Paper& paper) const;
  [[nodiscard]] Rows page_lines(const Paper& paper) const;

  Filter filter_;
  bool ended_, stands_ = false;
  std::int64_t uid_;
  Cluster cluster_;
  QueuePane queue_;
  SlotsPane slots_;
  Pane pane_ = Pane::queue;
  std::vector<View> views_;  // what lies over the board, the newest last

  std::optional<std::string> typed_;  // while a filter is typed
  std::string typed_wrong_;           // why it is none
  Filter before_typing_;

  std::int64_t open_ = 0;  // the job whose page or log is open
  std::optional<PageNews> page_;
  Pager pager_{Pager::Opens::at_begin}, help_{Pager::Opens::at_begin};
  LogWish log_wish_;
  std::optional<LogText> log_;
  std::string log_wrong_;
};

}  // namespace paceline
