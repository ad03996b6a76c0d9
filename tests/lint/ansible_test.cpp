// Playbooks, roles and Packer's templates: each defect is found at its place, and ours have none.
#include "lint/ansible_rules.h"

#include <gtest/gtest.h>

#include "testing.h"

namespace muster::lint {
namespace {

using Rules = std::vector<std::pair<int, std::string>>;  // line and rule

constexpr const char* kTasks = "/p/ami/roles/one/tasks/main.yml";

Rules found(const std::string& path, const std::string& text,
            const std::map<std::string, std::string>& others = {}) {
  MemoryFileSystem files;
  EXPECT_TRUE(files.write("/p/ami/roles/base/tasks/main.yml", "[]\n"));
  for (const auto& [name, content] : others) EXPECT_TRUE(files.write(name, content));
  EXPECT_TRUE(files.write(path, text));
  const auto environment = real_file_system().read(std::filesystem::path(testing::source_dir()) /
                                                   "facts/environment.yaml");
  EXPECT_TRUE(environment && files.write("/p/facts/environment.yaml", *environment));
  Rules rules;
  for (const Finding& finding : validate(files, "/p", {path}).findings)
    rules.emplace_back(finding.where.line, finding.rule);
  return rules;
}

struct Sample {
  std::string path, text;
  Rules rules;
};

TEST(Ansible, EachRuleFindsItsDefect) {
  const std::string playbook = "/p/ami/images/one/playbook.yml";
  const std::vector<Sample> samples = {
      {playbook, "- hosts: all\n  roles: [base]\n", {}},
      {playbook,
       "- hosts: all\n  roles:\n    - role: base\n    - {role: bass}\n    - ns.collection.role\n",
       {{4, "ansible-role-missing"}}},
      {playbook, "- hosts: all\n  rols: [base]\n", {{2, "ansible-form"}}},
      {playbook, "- hosts: all\n  tasks:\n    - base\n", {{3, "ansible-form"}}},
      {playbook,
       "- hosts: all\n  tasks:\n    - include_role: {name: bsae}\n",
       {{3, "ansible-role-missing"}}},
      {"/p/ami/roles/one/defaults/main.yml",
       "a: 1\ndependencies:\n  - role: nvidia_cuda\n",
       {{3, "ansible-defaults-dependency"}}},
      {"/p/ami/roles/one/meta/main.yml",
       "dependencies:\n  - role: base\n  - role: nvidia_cuda\n",
       {{3, "ansible-role-missing"}}},
      {kTasks, "- git: {repo: x, dest: y}\n", {{1, "ansible-clone"}}},
      {kTasks,
       "- ansible.builtin.git: {repo: x, dest: y, version: main}\n",
       {{1, "ansible-clone"}}},
      {kTasks, "- git: {repo: x, dest: y, version: '{{ tag }}'}\n", {}},
      {kTasks,
       "- block:\n    - shell: git clone https://example.com/x\n      changed_when: true\n",
       {{2, "ansible-clone"}}},
      {kTasks, "- shell: git clone --branch v1 https://example.com/x\n  args: {creates: /x}\n", {}},
      {kTasks, "- command: make install\n", {{1, "ansible-unguarded"}}},
      {kTasks, "- command: {cmd: make install, creates: /x}\n", {}},
      {"/p/ami/roles/one/handlers/main.yml", "- command: ldconfig\n", {}},
      {kTasks, "- apt: {name: docker, state: latest}\n", {{1, "ansible-floating"}}},
      {kTasks,
       "- get_url: {url: 'https://example.com/latest/x.tar', dest: /x}\n",
       {{1, "ansible-floating"}}},
      {kTasks,
       "- blockinfile: {path: /etc/a, block: x}\n- blockinfile: {path: /etc/b, block: x}\n"
       "- blockinfile: {path: /etc/a, block: y}\n",
       {{3, "ansible-marker"}}},
      {kTasks,
       "- blockinfile: {path: /etc/a, block: x}\n- blockinfile: {path: /etc/a, block: y, marker: "
       "'# {mark} two'}\n",
       {}},
      {kTasks,
       "- sysctl: {name: net.ipv4.tcp_congestion_control, value: brr}\n",
       {{1, "ansible-congestion"}}},
      {kTasks,
       "- copy:\n    dest: /etc/sysctl.d/a\n    content: |\n      net.ipv4.tcp_congestion_control "
       "= brr\n",
       {{1, "ansible-congestion"}}},
      {kTasks,
       "- copy: {dest: /etc/profile.d/nccl.sh, content: \"export RDMAV_FORK_SAFE=1\\n\"}\n",
       {{1, "env-harmful"}}},
      {"/p/ami/roles/one/vars/main.yml",
       "image: ami-0a1b2c3d4e5f60718\n",
       {{1, "ansible-identity"}}},
      {kTasks, "nothing: here\n", {{1, "ansible-form"}}},
      {"/p/ami/a.pkr.hcl",
       "source \"amazon-ebs\" \"a\" {\n  source_ami = \"ami-0a1b2c3d4e5f60718\"\n}\n",
       {{2, "packer-identity"}}},
      {"/p/ami/b.pkr.hcl",
       "source \"amazon-ebs\" \"a\" {\n  source_ami_filter {\n    filters = { name = \"x-*\" }\n  "
       "}\n  owners = 1\n}\n",
       {{2, "packer-owner"}}},
      {"/p/ami/c.pkr.hcl",
       "source \"amazon-ebs\" \"a\" {\n  source_ami_filter {\n    owners = [\"amazon\"]\n  }\n}\n",
       {}},
  };
  for (const Sample& sample : samples)
    EXPECT_EQ(found(sample.path, sample.text), sample.rules) << sample.text;
}

TEST(Ansible, AMarkerIsSeenAcrossTheFilesOfARole) {
  EXPECT_EQ(
      found(kTasks, "- blockinfile: {path: /etc/a, block: x}\n",
            {{"/p/ami/roles/one/tasks/first.yml", "- blockinfile: {path: /etc/a, block: z}\n"}}),
      Rules({{1, "ansible-marker"}}));
}

TEST(Ansible, AFileThatARoleCopiesIsRead) {
  EXPECT_EQ(found(kTasks, "- copy: {src: s.conf, dest: /etc/sysctl.d/s.conf}\n",
                  {{"/p/ami/roles/one/files/s.conf", "net.ipv4.tcp_congestion_control=brr\n"}}),
            Rules({{1, "ansible-congestion"}}));
}

TEST(Ansible, NotYamlIsUnreadable) {
  MemoryFileSystem files;
  ASSERT_TRUE(files.write(kTasks, "- when: (\"a: \" ~ b)\n  x: [\n"));
  const Report report = validate(files, "/p", {std::filesystem::path(kTasks)});
  EXPECT_TRUE(report.unreadable);
  EXPECT_EQ(report.exit_code(), 2);
}

// Every file of Ansible's and Packer's that the project has is looked at, and none has a finding.
TEST(Ansible, OursHaveNone) {
  const std::filesystem::path root = testing::source_dir();
  const Report report = validate(real_file_system(), root, {root / "ami_and_containers"});
  for (const Finding& finding : report.findings) ADD_FAILURE() << to_string(finding);
  int ansible = 0, packer = 0;
  for (const auto& [path, checker] : report.checked) {
    ansible += std::string(checker) == "ansible";
    packer += std::string(checker) == "packer";
  }
  EXPECT_GE(ansible, 65);
  EXPECT_GE(packer, 15);
}

}  // namespace
}  // namespace muster::lint
