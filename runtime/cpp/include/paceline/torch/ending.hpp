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

namespace paceline::detail {

// From construction to destruction.
class Ending {
 public:
  // REQUIRES: the group stays where it is, and outlives this.
  explicit Ending(Group& group) : before_(std::set_terminate(end)) { group_ = &group; }
  Ending(const Ending&) = delete;
  Ending& operator=(const Ending&) = delete;
  ~Ending() {
    group_ = nullptr;
    std::set_terminate(before_);
  }
  // All ranks have parted: nobody is to be told any more.
  void forget_the_others() { group_ = nullptr; }

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
    if (group_ == nullptr) return;
    try {
      group_->abort(what);
      group_->barrier();  // what ran may just have ended; what runs next notices, and tells them
    } catch (const GroupError&) {
    }
  }

  inline static Group* group_ = nullptr;
  std::terminate_handler before_;
};

}  // namespace paceline::detail
