// What an exception that nobody catches does: the other ranks are told, and say which rank it was.
#pragma once

#include <torch/torch.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <string>

#include "paceline/runtime.hpp"
#include "paceline/torch/error.hpp"
#include "paceline/torch/ranks.hpp"

namespace paceline::detail {

// From construction to destruction.
class Ending {
 public:
  // REQUIRES: they outlive this.
  explicit Ending(Ranks& ranks) : before_(std::set_terminate(end)) { ranks_ = &ranks; }
  Ending(const Ending&) = delete;
  Ending& operator=(const Ending&) = delete;
  ~Ending() {
    ranks_ = nullptr;
    std::set_terminate(before_);
  }

 private:
  [[noreturn]] static void end() {
    try {
      if (const auto exception = std::current_exception()) std::rethrow_exception(exception);
      say("The program ended by std::terminate().");
    } catch (const Exit& exit) {
      std::exit(exit.code);
    } catch (const GroupError& error) {  // of which all know
      say(error.what());
    } catch (const c10::Error& error) {
      say_to_all(error.what_without_backtrace());
    } catch (const std::exception& error) {
      say_to_all(error.what());
    } catch (...) {
      say_to_all("an exception of a type of its own");
    }
    std::cout.flush();
    std::fflush(nullptr);
    std::_Exit(1);
  }
  static void say(const std::string& what) { std::cerr << "paceline: " << what << std::endl; }
  static void say_to_all(const std::string& what) {
    say(what);
    if (ranks_ != nullptr) ranks_->abort(what);
  }

  inline static Ranks* ranks_ = nullptr;
  std::terminate_handler before_;
};

}  // namespace paceline::detail
