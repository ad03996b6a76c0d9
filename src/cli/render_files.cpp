#include "cli/render_files.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

namespace muster::cli {
namespace {

namespace fs = std::filesystem;

// Says which committed files are not what would be rendered.
void compare_files(Context& context, const std::vector<RenderFile>& files, const fs::path& folder,
                   Output& output) {
  Findings findings;
  for (const RenderFile& file : files) {
    const fs::path path = folder / file.path;
    const auto text = context.files.read(path);
    if (text && *text == file.content) continue;
    findings.push_back(
        error_at({path.string(), 1, 1}, "render-differs",
                 context.files.exists(path) ? "differs from what is rendered" : "is not there",
                 "the same command without --check writes it"));
  }
  output.judges = true;
  output.findings = findings;
  output.data["differs"] = !findings.empty();
  output.data["findings"] = to_json(findings);
  output.text = "";
  for (const Finding& finding : findings) *output.text += to_string(finding) + "\n";
  context.print(output);
  if (!findings.empty() && context.exit_code == kExitOk) context.exit_code = kExitDiffers;
}

void write_files(Context& context, const std::vector<RenderFile>& files, const fs::path& folder,
                 Output& output) {
  output.text = "";
  for (const RenderFile& file : files) {
    const auto written = context.files.write(folder / file.path, file.content, file.executable);
    if (!written) return context.fail(written.findings(), kExitBadInput);
    *output.text += (folder / file.path).string() + "\n";
  }
  context.print(output);
}

}  // namespace

void deliver(Context& context, const std::vector<RenderFile>& files, const RenderWhere& where,
             Output output) {
  output.name = "render";
  output.rows = "files";
  output.columns = {{"PATH", "path"}};
  auto& items = output.data["files"] = nlohmann::ordered_json::array();
  for (const RenderFile& file : files) {
    items.push_back(
        {{"path", file.path}, {"executable", file.executable}, {"content", file.content}});
  }
  if (where.check) return compare_files(context, files, where.out, output);
  if (!where.out.empty()) return write_files(context, files, where.out, output);
  std::string text;
  for (const RenderFile& file : files)
    text += fmt::format("# ==> {} <==\n{}", file.path, file.content);
  output.text = text + output.text.value_or("");
  context.print(output);
}

void add_render_where(CLI::App* sub, const std::shared_ptr<RenderWhere>& where) {
  sub->add_option("--out", where->out, "Write the files into this folder instead of printing them")
      ->type_name("DIR");
  sub->add_flag("--check", where->check,
                "Compare with the files in --out instead; exit code 5 when they differ");
}

bool is_usable(Context& context, const RenderWhere& where) {
  if (!where.check || !where.out.empty()) return true;
  context.fail(
      {error_at({}, "render-where", "--check needs --out", "the folder with the committed files")},
      kExitInternal);
  return false;
}

}  // namespace muster::cli
