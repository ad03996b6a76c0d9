#include "engine/train/tokenize_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <iostream>
#include <iterator>
#include <memory>
#include <utility>

#include "base/file_system.h"
#include "base/output.h"
#include "base/text.h"
#include "engine/text/byte_level.h"
#include "engine/text/tokenizer.h"

namespace muster::train {
namespace {

using Json = nlohmann::ordered_json;
using text::TokenId;

struct TokenizeOptions {
  std::string model;
  std::string text;
  std::string output = "table";
  bool specials = false;
  bool decode = false;
};

int fail(const Findings& findings) {
  for (const Finding& finding : findings) std::cerr << to_string(finding) << '\n';
  return kExitBadInput;
}

/// Ids separated by spaces, commas or brackets. `file` names the text in errors.
Result<std::vector<TokenId>> parse_ids(std::string_view list, const text::Tokenizer& tokenizer,
                                       const std::string& file) {
  std::vector<TokenId> ids;
  const auto separates = [](char c) {
    return std::string_view(" ,[]\t\r\n").find(c) != std::string_view::npos;
  };
  for (std::size_t at = 0; at < list.size();) {
    if (separates(list[at])) {
      ++at;
      continue;
    }
    std::size_t end = at;
    while (end < list.size() && !separates(list[end])) ++end;
    TokenId id = -1;
    const auto [stop, error] = std::from_chars(list.data() + at, list.data() + end, id);
    if (error != std::errc{} || stop != list.data() + end || !tokenizer.contains(id))
      return Failure(error_at(
          position_at(list, at, file), "token-id",
          fmt::format("'{}' is no token id", list.substr(at, end - at)),
          fmt::format("ids from 0 to {}, separated by spaces", tokenizer.vocabulary_size() - 1)));
    ids.push_back(id);
    at = end;
  }
  return ids;
}

/// MODEL is a folder with tokenizer.json, or that file.
std::filesystem::path tokenizer_file(const std::string& model) {
  const auto info = real_file_system().info(model);
  if (info && info->kind == FileInfo::Kind::kFile) return model;
  return std::filesystem::path(model) / "tokenizer.json";
}

int run_tokenize(const TokenizeOptions& options) {
  auto tokenizer = text::Tokenizer::read(tokenizer_file(options.model));
  if (!tokenizer) return fail(tokenizer.findings());
  const bool from_input = options.text == "-";
  const std::string given =
      from_input ? std::string(std::istreambuf_iterator<char>(std::cin), {}) : options.text;
  const std::string file = from_input ? "<stdin>" : "<text>";

  std::vector<TokenId> ids;
  if (options.decode) {
    auto parsed = parse_ids(given, *tokenizer, file);
    if (!parsed) return fail(parsed.findings());
    ids = std::move(parsed).value();
  } else {
    if (auto wrong = find_not_text(given, file)) return fail({*wrong});
    ids = tokenizer->encode(given, options.specials);
  }
  const std::string back = tokenizer->decode(ids);

  Output output;
  output.name = "tokenize";
  output.data["ids"] = ids;
  Json tokens = Json::array();
  for (const TokenId id : ids) {
    const std::string bytes = tokenizer->decode(std::span(&id, 1));
    tokens.push_back({{"id", id}, {"token", text::to_visible(bytes)}});
  }
  output.data["tokens"] = std::move(tokens);
  output.data["text"] = back;
  output.data["round_trip"] =
      options.decode || options.specials ? Json(nullptr) : Json(back == given);
  output.text = fmt::format("{}\n{}\n", fmt::join(ids, " "), back);
  output.rows = "tokens";
  output.columns = {{"ID", "id", false, true}, {"TOKEN", "token"}};
  const auto format = parse_format(options.output).value_or(Format::kTable);
  if (auto written = write_output(std::cout, output, format, /*color=*/false); !written) {
    fail(written.findings());
    return kExitInternal;
  }
  return kExitOk;
}

}  // namespace

void add_tokenize(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<TokenizeOptions>();
  CLI::App* sub = app.add_subcommand("tokenize", "Text to token ids and back");
  sub->add_option("MODEL", options->model, "Folder with tokenizer.json, or that file")->required();
  sub->add_option("TEXT", options->text, "The text; - reads standard input")->required();
  sub->add_flag("--specials", options->specials,
                "With the marks that the tokenizer puts around a text");
  sub->add_flag("--decode", options->decode,
                "TEXT is a list of ids: print the text they stand for");
  sub->add_option("-o,--output", options->output, "Output format")
      ->check(CLI::IsMember({"table", "wide", "json", "yaml", "csv"}))
      ->capture_default_str();
  sub->callback([options, &exit_code] { exit_code = run_tokenize(*options); });
}

}  // namespace muster::train
