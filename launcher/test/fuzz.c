/*
 * What the launcher does with texts, for clang's libFuzzer. The first byte says what the others are and how often they repeat,
 * since messages are long. They are UTF-16, lowest byte first. Functions are checked against what Windows and Node make of their results; sanitizers watch the memory.
 */
#include "../texts.h"

#include "../../shim/core/json.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(holds, ...)                                                                                              \
  do {                                                                                                                 \
    if (!(holds)) fprintf(stderr, "%s:%d: ", __FILE__, __LINE__), fprintf(stderr, __VA_ARGS__), abort();               \
  } while (0)

/* The kind of input that is repeated. */
enum { MESSAGES = 5 };

static wchar_t first[TEXT_MAX], second[TEXT_MAX], third[TEXT_MAX];

/* Up to the next zero, so many times, in memory of its own size. Here wchar_t has four bytes: each unit of UTF-16 is one. */
static wchar_t *take_text(const uint8_t **bytes, size_t *length, size_t times) {
  size_t units = 0;
  while (2 * units + 1 < *length && ((*bytes)[2 * units] | (*bytes)[2 * units + 1]) != 0) units++;
  wchar_t *text = malloc((units * times + 1) * sizeof *text);
  if (text == NULL) abort();
  for (size_t i = 0; i < units * times; i++) {
    const uint8_t *unit = *bytes + 2 * (i % units);
    text[i] = (wchar_t)(unit[0] | unit[1] << 8);
  }
  text[units * times] = L'\0';
  size_t taken = 2 * units + 2 < *length ? 2 * units + 2 : *length;
  *bytes += taken, *length -= taken;
  return text;
}

/* The start-up code of Windows' C library: the name ends at a blank or control character that is in no quotes. */
static void check_arguments(const wchar_t *line) {
  const wchar_t *rest = arguments_of(line);
  CHECK(rest >= line && rest <= line + wcslen(line), "the arguments lie outside\n");
  CHECK(*rest <= L' ', "the name ends within a word\n");
  size_t quotes = 0;
  for (const wchar_t *at = line; at < rest; at++) {
    CHECK(quotes % 2 == 1 || *at > L' ', "the name has a blank\n");
    quotes += *at == L'"';
  }
  CHECK(quotes % 2 == 0 || *rest == L'\0', "the name ends within quotes\n");
}

/* What is taken away and what is left are the text, but for quotes, blanks in front, and the flag itself. */
static void check_service(const wchar_t *arguments) {
  const wchar_t *rest = after_service_flag(arguments, first);
  if (rest == NULL) return;
  CHECK(rest > arguments && rest <= arguments + wcslen(arguments), "the rest lies outside\n");
  CHECK(*rest == L'\0' || *rest == L' ' || *rest == L'\t', "the flag ends within a word\n");
  const wchar_t *flag = arguments + wcsspn(arguments, L" \t");
  const wchar_t *value = flag + wcslen(L"--windows-service");
  size_t length = (size_t)(rest - value);
  if (*value != L'=') {
    CHECK(length == 0 && first[0] == L'\0', "a log that nobody named\n");
    return;
  }
  value++, length--;
  if (*value == L'"') value++, length -= rest[-1] == L'"' && length > 1 ? 2 : 1;
  CHECK(wcslen(first) == length && wcsncmp(first, value, length) == 0, "another log than was named\n");
}

/* Windows takes the program off the line, Node the script: both find what was put there. */
static void check_line(const wchar_t *node, const wchar_t *script, const wchar_t *arguments) {
  if (wcschr(node, L'"') != NULL || wcschr(script, L'"') != NULL) return;
  size_t length = wcslen(node) + wcslen(script) + wcslen(arguments) + 5;
  if (!command_line(first, node, script, arguments)) {
    /* CreateProcess takes 32 767 characters with the zero, one less than a buffer has. */
    CHECK(length + 1 > TEXT_MAX - 1, "a line is refused that Windows takes\n");
    return;
  }
  CHECK(wcslen(first) == length && length + 1 < TEXT_MAX, "a line of another length\n");
  const wchar_t *of_node = first + 1;
  const wchar_t *of_script = of_node + wcslen(node) + 3;
  CHECK(wcsncmp(of_node, node, wcslen(node)) == 0 && wcsncmp(of_script - 3, L"\" \"", 3) == 0, "another program\n");
  CHECK(wcsncmp(of_script, script, wcslen(script)) == 0 && of_script[wcslen(script)] == L'"', "another script\n");
  CHECK(wcscmp(of_script + wcslen(script) + 1, arguments) == 0, "other arguments\n");
}

static void check_path(const wchar_t *path, const wchar_t *file) {
  size_t length = folder_length(path);
  CHECK(length <= wcslen(path), "a folder lies outside\n");
  CHECK(wcspbrk(path + length + (path[length] != L'\0'), L"\\/") == NULL, "the last part has a separator\n");
  if (program_name(path, first)) {
    CHECK(first[0] != L'\0' && wcspbrk(first, L"\\/") == NULL, "a name with a separator\n");
    CHECK(wcsstr(path, first) != NULL, "a name that is not in the path\n");
  }
  if (join_path(second, path, length, file)) {
    size_t end = wcslen(second) - wcslen(file);
    CHECK(end > 0 && wcscmp(second + end, file) == 0, "another file\n");
    CHECK(second[end - 1] == L'\\' || second[end - 1] == L'/', "no separator\n");
    CHECK(wcsncmp(second, path, length) == 0, "another folder\n");
  }
  bool is_network = wcslen(path) > 1 && wcsspn(path, L"\\/") > 1;
  bool is_drive = wcslen(path) > 2 && path[1] == L':' && wcsspn(path + 2, L"\\/") > 0;
  CHECK(!is_absolute(path) || is_network || is_drive, "a path that depends on the current folder\n");
  if (wcslen(path) >= TEXT_MAX) return;
  wcscpy(third, path);
  strip_prefix(third);
  size_t taken = wcslen(path) - wcslen(third);
  CHECK(taken == 0 || taken == 4 || taken == 6, "another prefix\n");
  CHECK(taken != 6 || wcsncmp(third, L"\\\\", 2) == 0, "a share without its slashes\n");
}

/* Each folder of PATH once, in order, and nothing else. */
static void check_folders(wchar_t *path) {
  size_t wanted = 1;
  for (const wchar_t *at = path; *at != L'\0'; at++) wanted += *at == L';';
  const wchar_t *end = path + wcslen(path);
  wchar_t *rest = path;
  size_t found = 0;
  for (wchar_t *folder; (folder = next_folder(&rest)) != NULL; found++) {
    CHECK(folder >= path && folder + wcslen(folder) <= end, "a folder lies outside\n");
    CHECK(wcschr(folder, L';') == NULL, "two folders in one\n");
  }
  CHECK(found == wanted, "%zu folders of %zu\n", found, wanted);
}

static void check_message(const wchar_t *name, const wchar_t *which, const wchar_t *words) {
  struct message message = {.length = 0};
  add_text(&message, L"{\"msg\": \"");
  add_piece(&message, name, true, KEPT_BY_OTHERS);
  add_piece(&message, L" says \"no\": ", true, KEPT_BY_OURS);
  add_piece(&message, which, true, KEPT_BY_OTHERS);
  add_piece(&message, words, true, KEPT_BY_OTHERS);
  add_piece(&message, L"What to do.", true, KEPT_BY_OURS);
  add_text(&message, L"\"}");
  CHECK(message.text[message.length] == L'\0' && wcslen(message.text) == message.length, "no end\n");
  CHECK(wcsstr(message.text, L"What to do.\"}") != NULL, "the advice is cut\n");
  static char json[sizeof message.text / sizeof *message.text];
  for (size_t i = 0; i < message.length; i++) {
    wchar_t c = message.text[i];
    CHECK(c >= 0x20 && !(c >= 0x7f && c < 0xa0) && c != 0x202e, "a character steers the terminal\n");
    json[i] = c < 0x80 ? (char)c : '?';
  }
  CHECK(json_is_valid((text_slice){json, message.length}), "no JSON: %.*s\n", (int)message.length, json);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
  if (length == 0) return 0;
  uint8_t kind = bytes[0];
  bytes++, length--;
  wchar_t *texts[3];
  for (size_t i = 0; i < 3; i++) texts[i] = take_text(&bytes, &length, kind % 6 == MESSAGES ? kind / 6 + 1u : 1);
  switch (kind % 6) {
  case 0:
    check_arguments(texts[0]);
    break;
  case 1:
    check_service(texts[0]);
    break;
  case 2:
    check_line(texts[0], texts[1], texts[2]);
    break;
  case 3:
    check_path(texts[0], texts[1]);
    break;
  case 4:
    check_folders(texts[0]);
    break;
  case MESSAGES:
    check_message(texts[0], texts[1], texts[2]);
  }
  for (size_t i = 0; i < 3; i++) free(texts[i]);
  return 0;
}
