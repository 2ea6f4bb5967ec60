// How the programs of two guests meet: by files in a folder that both see. And how they report.
#pragma once

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>

namespace hccl::roce {

class Meeting {
 public:
  // The number of this guest: 0 or 1.
  Meeting(int number, std::string prefix) : number_(number), prefix_(std::move(prefix)) {}

  int number() const { return number_; }
  int other() const { return 1 - number_; }
  bool good() const { return good_; }

  void check(bool good, const std::string& what) {
    std::cout << (good ? "ok: " : "FAILED: ") << what << std::endl;
    good_ = good_ && good;
  }
  void put(const std::string& name, const std::string& content) {
    const std::string path = fileOf(name, number_);
    std::ofstream(path + ".new", std::ios::binary) << content;
    std::rename((path + ".new").c_str(), path.c_str());
  }
  // What the other guest put; ends the program when it does not come within two minutes.
  std::string take(const std::string& name) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::minutes(2);
    while (std::chrono::steady_clock::now() < until) {
      std::ifstream file(fileOf(name, other()), std::ios::binary);
      if (file) {
        std::ostringstream content;
        content << file.rdbuf();
        return content.str();
      }
      ::usleep(20'000);
    }
    check(false, "the other host did not come to " + name);
    std::exit(1);
  }
  void meet(const std::string& name) {
    put(name, ".");
    take(name);
  }
  // Runs a command as root.
  static bool run(const std::string& command) { return std::system(command.c_str()) == 0; }

 private:
  std::string fileOf(const std::string& name, int number) const {
    return "/out/exchange/" + prefix_ + "-" + name + "." + std::to_string(number);
  }
  int number_;
  std::string prefix_;
  bool good_ = true;
};

}  // namespace hccl::roce
