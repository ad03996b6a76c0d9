#include "cli/doctor_needs.h"

namespace muster::cli {
namespace {

Need program(std::string name, std::vector<std::string> programs,
             std::vector<std::string> version_arguments, std::string minimum,
             std::vector<std::string> packages) {
  return {
      std::move(name),    std::move(programs), std::move(version_arguments), std::move(minimum), {},
      std::move(packages)};
}

Need library(std::string name, std::vector<std::string> files, std::string package) {
  return {std::move(name), {}, {}, {}, std::move(files), {std::move(package)}};
}

/// A header, also where Debian puts those that differ by architecture.
std::vector<std::string> header(const std::string& name) {
  return {"include/" + name, "include/x86_64-linux-gnu/" + name,
          "include/aarch64-linux-gnu/" + name};
}

}  // namespace

const std::vector<Capability>& capabilities() {
  static const std::vector<Capability> kCapabilities = {
      {"build",
       "build muster and its engine",
       {
           program("C++ compiler", {"g++", "clang++"}, {"--version"}, "12", {"g++"}),
           program("CMake", {"cmake"}, {"--version"}, "3.25", {"cmake"}),
           program("Ninja", {"ninja"}, {"--version"}, "1.10", {"ninja-build"}),
           library("CLI11", header("CLI/CLI.hpp"), "libcli11-dev"),
           library("fmt", header("fmt/format.h"), "libfmt-dev"),
           library("yaml-cpp", header("yaml-cpp/yaml.h"), "libyaml-cpp-dev"),
           library("nlohmann-json", header("nlohmann/json.hpp"), "nlohmann-json3-dev"),
           library("SQLite", header("sqlite3.h"), "libsqlite3-dev"),
           library("libcurl", header("curl/curl.h"), "libcurl4-openssl-dev"),
           library("OpenSSL", header("openssl/evp.h"), "libssl-dev"),
           library("PCRE2", header("pcre2.h"), "libpcre2-dev"),
           library("libgit2", header("git2.h"), "libgit2-dev"),
           library("MD4C", header("md4c.h"), "libmd4c-dev"),
           library("libtorch", header("torch/csrc/api/include/torch/torch.h"), "libtorch-dev"),
           library("MPI",
                   {"lib/x86_64-linux-gnu/openmpi/include/mpi.h",
                    "lib/aarch64-linux-gnu/openmpi/include/mpi.h", "include/mpi.h"},
                   "libopenmpi-dev"),
           library("oneDNN", header("dnnl.hpp"), "libdnnl-dev"),
           library("tcmalloc",
                   {"lib/x86_64-linux-gnu/libtcmalloc_minimal.so.4",
                    "lib/aarch64-linux-gnu/libtcmalloc_minimal.so.4"},
                   "libtcmalloc-minimal4"),
           library("GoogleTest", header("gtest/gtest.h"), "libgtest-dev"),
           library("RapidCheck", header("rapidcheck.h"), "librapidcheck-dev"),
       },
       false},
      {"train",
       "train the native cases on this machine",
       {
           program("mpirun", {"mpirun"}, {"--version"}, "4.0", {"openmpi-bin"}),
           program("King James text", {"bible"}, {}, "", {"bible-kjv"}),
       },
       true},
      {"frameworks",
       "run cases of other frameworks on this machine",
       {
           program("Python", {"python3"}, {"--version"}, "3.10", {"python3"}),
           library("Python's venv",
                   {"lib/python3.11/ensurepip/__init__.py", "lib/python3.12/ensurepip/__init__.py",
                    "lib/python3.13/ensurepip/__init__.py"},
                   "python3-venv"),
           library("Fashion-MNIST", {"share/datasets/fashion-mnist/train-images-idx3-ubyte.gz"},
                   "dataset-fashion-mnist"),
       },
       false},
      {"slurm",
       "submit cases to Slurm",
       {
           program("sbatch", {"sbatch"}, {"--version"}, "20.11", {"slurm-client"}),
           program("srun", {"srun"}, {"--version"}, "20.11", {"slurm-client"}),
           program("squeue", {"squeue"}, {"--version"}, "20.11", {"slurm-client"}),
           program("sacct", {"sacct"}, {"--version"}, "20.11", {"slurm-client"}),
       },
       false},
      {"kubernetes",
       "submit cases to Kubernetes",
       {program("kubectl", {"kubectl"}, {"version", "--client"}, "1.20", {"kubernetes-client"})},
       false},
      {"aws",
       "deploy architectures",
       {program("AWS command line", {"aws"}, {"--version"}, "2.9", {"awscli"})},
       false},
      {"containers",
       "build and run container images",
       {program("container builder", {"docker", "podman", "buildah"}, {"--version"}, "",
                {"podman"})},
       false},
      {"docs",
       "build the documentation site",
       {program("Hugo", {"hugo"}, {"version"}, "0.100", {"hugo"})},
       false},
      {"screenshots",
       "take pictures of reports, as the tests do",
       {program("Chromium", {"chromium", "chromium-browser", "google-chrome"}, {"--version"}, "",
                {"chromium"})},
       false},
  };
  return kCapabilities;
}

}  // namespace muster::cli
