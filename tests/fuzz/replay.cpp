// Gives every file of the folders named to the fuzz target once: the corpus as an ordinary test,
// with any compiler.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

int main(int argc, char** argv) {
  std::vector<std::filesystem::path> files;
  for (int i = 1; i < argc; ++i) {
    for (const auto& entry : std::filesystem::directory_iterator(argv[i]))
      files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  for (const auto& file : files) {
    std::cerr << file.string() << '\n';  // so that a crash names its input
    std::ifstream stream(file, std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(stream)),
                           std::istreambuf_iterator<char>());
    // Every prefix as well: texts break off.
    for (std::size_t size = 0; size <= std::min<std::size_t>(text.size(), 2000); ++size) {
      LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(text.data()), size);
    }
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
  }
  if (files.empty()) std::cerr << "no corpus\n";
  return files.empty() ? 1 : 0;
}
