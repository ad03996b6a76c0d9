#include "engine/train/prepare.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/text.h"
#include "engine/text/train_bpe.h"

namespace muster::train {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kPartBytes = 64U << 10;
constexpr std::size_t kHeldOut = 20;  ///< one part of so many is for validation
constexpr std::size_t kShardTokens = 64U << 20;
constexpr std::size_t kTokenizerText =
    64U << 20;  ///< no more bytes of text go into training a tokenizer
constexpr int kPreparedVersion = 1;
constexpr const char* kTrainedPrefix = "bpe:";
constexpr const char* kTokenizerName = "tokenizer.json";

Failure bad_data(const fs::path& path, const std::string& message, const std::string& hint = {}) {
  return Failure(error_at({path.string()}, "data", message, hint));
}

std::vector<fs::path> files_of(const fs::path& directory, std::string_view prefix,
                               std::string_view suffix) {
  std::vector<fs::path> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory, error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(prefix) && name.ends_with(suffix) &&
        fs::is_regular_file(entry.path(), error))
      files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

struct Texts {
  std::vector<MappedFile> files;
  std::string hash;
};

Result<Texts> open_texts(const fs::path& data) {
  std::error_code error;
  std::vector<fs::path> paths = {data};
  if (fs::is_directory(data, error)) {
    paths = files_of(data, "", ".txt");
    if (paths.empty())
      return bad_data(data, "holds neither *.tokens shards nor *.txt texts",
                      "name a UTF-8 text, or a directory of either");
  }
  Texts texts;
  Digest all;
  for (const fs::path& path : paths) {
    auto file = MappedFile::open(path);
    if (!file) return file.error();
    if (file->text().find_first_not_of(" \t\r\n") == std::string_view::npos)
      return bad_data(path, "the text is empty", "training needs some text");
    if (auto fault = find_not_text(file->text(), path.string())) return Failure(*fault);
    all.update(digest(file->text()));
    texts.files.push_back(std::move(*file));
  }
  texts.hash = all.hex();
  return texts;
}

// The tokenizer of a request: read, or still to be trained.
struct TokenizerSource {
  std::optional<text::Tokenizer> ready;
  std::int64_t vocabulary = 0;  ///< of the one to train
  std::string key;
};

Result<TokenizerSource> find_tokenizer(const std::string& spec) {
  TokenizerSource source;
  if (spec.starts_with(kTrainedPrefix)) {
    const std::string_view number =
        std::string_view(spec).substr(std::string_view(kTrainedPrefix).size());
    const auto [end, error] =
        std::from_chars(number.data(), number.data() + number.size(), source.vocabulary);
    if (error != std::errc() || end != number.data() + number.size()) {
      return failure("tokenizer",
                     fmt::format("--tokenizer {}: \"{}\" is not a number of ids", spec, number),
                     "bpe:4096, say");
    }
    source.key = spec;
    return source;
  }
  auto file = MappedFile::open(spec);
  if (!file) return file.error();
  auto tokenizer = text::Tokenizer::from_json(file->text(), spec);
  if (!tokenizer) return tokenizer.error();
  source.key = digest(file->text());
  source.ready = std::move(*tokenizer);
  return source;
}

Result<text::Tokenizer> train_tokenizer(const Texts& texts, std::int64_t vocabulary) {
  std::string sample;
  for (const MappedFile& file : texts.files) {
    for (const TextPart& part : split_text(file.text())) {
      if (!part.validation && sample.size() < kTokenizerText) sample += part.text;
    }
  }
  return text::train_bpe(sample, vocabulary);
}

// Writes the tokens of one split, a shard after the other.
class SplitWriter {
 public:
  SplitWriter(fs::path directory, std::string name, std::uint64_t vocabulary)
      : directory_(std::move(directory)), name_(std::move(name)), vocabulary_(vocabulary) {}

  Result<void> append(const std::vector<std::int32_t>& tokens) {
    tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
    total_ += tokens.size();
    return tokens_.size() >= kShardTokens ? flush() : Result<void>{};
  }
  Result<void> flush() {
    if (tokens_.empty()) return {};
    auto writer = TokenShardWriter::create(
        directory_ / fmt::format("{}-{:05}.tokens", name_, shards_), vocabulary_);
    if (auto added = writer->append(tokens_); !added) return added;
    if (auto closed = writer->close(); !closed) return closed;
    tokens_.clear();
    ++shards_;
    return {};
  }
  std::uint64_t total() const { return total_; }

 private:
  fs::path directory_;
  std::string name_;
  std::uint64_t vocabulary_;
  std::vector<std::int32_t> tokens_;
  std::uint64_t total_ = 0;
  int shards_ = 0;
};

Result<void> write_prepared(const Texts& texts, const text::Tokenizer& tokenizer,
                            const fs::path& directory) {
  const auto vocabulary = static_cast<std::uint64_t>(tokenizer.vocabulary_size());
  SplitWriter train(directory, "train", vocabulary);
  SplitWriter validation(directory, "validation", vocabulary);
  for (const MappedFile& file : texts.files) {
    for (const TextPart& part : split_text(file.text())) {
      if (auto added = (part.validation ? validation : train).append(tokenizer.encode(part.text));
          !added)
        return added;
    }
    if (const auto end = tokenizer.end_of_text()) {
      if (auto added = train.append({*end}); !added) return added;
    }
  }
  for (SplitWriter* split : {&train, &validation}) {
    if (auto flushed = split->flush(); !flushed) return flushed;
  }
  if (auto written = write_file(directory / kTokenizerName, tokenizer.to_json()); !written)
    return written;
  const nlohmann::json record = {
      {"format", "muster-data"},       {"version", kPreparedVersion},
      {"text_hash", texts.hash},       {"vocabulary", vocabulary},
      {"train_tokens", train.total()}, {"validation_tokens", validation.total()}};
  return write_file(directory / "data.json", record.dump(1) + "\n");
}

}  // namespace

std::vector<TextPart> split_text(std::string_view text) {
  const std::size_t target = std::clamp<std::size_t>(text.size() / kHeldOut, 1, kPartBytes);
  std::vector<TextPart> parts;
  while (!text.empty()) {
    std::size_t size = std::min(target, text.size());
    const std::size_t line_end =
        text.substr(0, std::min(text.size(), 2 * target)).find('\n', size - 1);
    if (line_end != std::string_view::npos) {
      size = line_end + 1;
    } else {  // no line ends near: at least between characters
      while (size < text.size() && (static_cast<unsigned char>(text[size]) & 0xC0U) == 0x80U)
        ++size;
    }
    parts.push_back({text.substr(0, size), parts.size() % kHeldOut == kHeldOut / 2});
    text.remove_prefix(size);
  }
  return parts;
}

Result<fs::path> prepare(const DataRequest& request) {
  std::error_code error;
  if (fs::is_directory(request.data, error) && !files_of(request.data, "train-", ".tokens").empty())
    return request.data;
  auto texts = open_texts(request.data);
  if (!texts) return texts.error();
  auto source = find_tokenizer(request.tokenizer);
  if (!source) return source.error();
  const std::string key =
      digest(fmt::format("{} {} {}", kPreparedVersion, texts->hash, source->key)).substr(0, 16);
  const fs::path prepared = request.cache / key;
  if (fs::exists(prepared, error)) return prepared;

  if (!source->ready) {
    auto trained = train_tokenizer(*texts, source->vocabulary);
    if (!trained) return trained.error();
    source->ready = std::move(*trained);
  }
  const fs::path beside = request.cache / fmt::format("{}.{}.tmp", key, ::getpid());
  if (auto made = make_directory(beside); !made) return made.error();
  if (auto written = write_prepared(*texts, *source->ready, beside); !written) {
    (void)remove_tree(beside);
    return written.error();
  }
  const bool moved = ::rename(beside.c_str(), prepared.c_str()) == 0;
  const int reason = errno;
  if (!moved) {
    (void)remove_tree(beside);
    // Another process of the same machine may have made the same meanwhile.
    if (!fs::exists(prepared, error)) return cannot_write(prepared, reason);
  }
  if (auto synced = sync_directory(request.cache); !synced) return synced.error();
  return prepared;
}

Result<Corpus> open_corpus(const fs::path& directory) {
  const auto train_files = files_of(directory, "train-", ".tokens");
  const auto validation_files = files_of(directory, "validation-", ".tokens");
  if (train_files.empty())
    return bad_data(directory, "there is no train-*.tokens shard here",
                    "remove this directory to have it made again, or name the text");
  auto train = TokenStream::open(train_files);
  if (!train) return train.error();
  auto validation = TokenStream::open(validation_files.empty() ? train_files : validation_files);
  if (!validation) return validation.error();
  if (validation_files.empty()) {
    const std::uint64_t kept = train->tokens() - train->tokens() / kHeldOut;
    validation->narrow(kept, train->tokens());
    train->narrow(0, kept);
  }
  Corpus corpus{std::move(*train),
                std::move(*validation),
                {},
                {},
                {},
                train_files.size() + validation_files.size()};
  corpus.hash = corpus.train.hash();
  const fs::path tokenizer = directory / kTokenizerName;
  std::error_code error;
  if (fs::exists(tokenizer, error)) {
    auto file = MappedFile::open(tokenizer);
    if (!file) return file.error();
    auto parsed = text::Tokenizer::from_json(file->text(), tokenizer.string());
    if (!parsed) return parsed.error();
    corpus.tokenizer = tokenizer.string();
    corpus.tokenizer_hash = digest(file->text());
  }
  return corpus;
}

}  // namespace muster::train
