// Where the CLI prints: standard output and standard error, with what is known about them. Writes
// are not buffered. The first failure is remembered, so that callers need not look after each
// write: finish() tells it once at the end, and follow-loops stop on broken().
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "cli/words/table.hpp"

namespace paceline {

using Environment = std::map<std::string, std::string>;

class Console {
 public:
  struct Setup {
    int input_fd = 0;
    int output_fd = 1;
    int error_fd = 2;
    bool output_terminal = false;
    bool status_line = false;  // on standard error
    bool color = false;        // of the output
  };

  explicit Console(const Setup& setup) : setup_(setup) {}
  // The process's own: asks the descriptors, NO_COLOR and TERM.
  static Console of_process(const Environment& environment);

  // To standard output, as it is. A status line gives way and comes back below.
  void print(std::string_view text);
  // To standard error: "paceline: <text>\n".
  void note(std::string_view text);
  // "paceline: <message>\n", its hint on the next line below the message.
  void complain(const Error& error);
  // One line on standard error that each next call replaces; an empty one removes it. Nothing
  // happens where there is no status line.
  void status(std::string_view line);
  // Rows above the status line that each next call replaces, each cut to the terminal's width: what
  // is not written to its end yet. Nothing happens where neither output is a terminal's.
  void live(const std::vector<std::string>& rows);

  [[nodiscard]] int input_fd() const { return setup_.input_fd; }
  [[nodiscard]] bool output_terminal() const { return setup_.output_terminal; }
  // Whether there is a status line: on a terminal, unless what reads the output through a pipe may
  // write to that terminal, too.
  [[nodiscard]] bool status_line() const { return setup_.status_line; }
  // Columns and lines of the terminal on standard output (else on standard error), as of now.
  [[nodiscard]] std::size_t width() const;
  [[nodiscard]] std::size_t height() const;
  // How tables look here.
  [[nodiscard]] Look look(bool header = true) const;
  [[nodiscard]] std::string paint(std::string_view text, Style style) const;

  // True once standard output failed or its reader went away.
  [[nodiscard]] bool broken() const { return failed_errno_ != 0; }
  // The exit code after all was printed: `code`, 0 if the reader closed the pipe, else 74 with a
  // complaint.
  int finish(int code);

 private:
  void write_bottom(std::string_view bytes);
  // What stands at the bottom now, and what takes it away with the cursor where it began.
  [[nodiscard]] std::string bottom() const;
  [[nodiscard]] std::string erasure() const;
  [[nodiscard]] std::string cut_to_row(std::string_view line) const;

  Setup setup_;
  int failed_errno_ = 0;
  std::string status_;
  std::vector<std::string> live_;
  bool in_line_ = false;  // the output's last byte was no newline
};

}  // namespace paceline
