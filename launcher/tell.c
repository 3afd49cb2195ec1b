/* What people and runtimes are told when nothing could be started. */
#include "launcher.h"

#include <stdio.h>

/* Other than these six is none of CNI's verbs, but whoever sets the variable expects JSON. */
static bool is_cni_call(void) {
  return GetEnvironmentVariableW(L"CNI_COMMAND", NULL, 0) > 1;
}

int failure_status(void) {
  return is_cni_call() ? 1 : 2;
}

/* A text that is built up piece by piece; what does not fit is left out. */
struct message {
  wchar_t text[4096];
  size_t length;
};

static void add(struct message *message, const wchar_t *piece) {
  const size_t room = sizeof message->text / sizeof *message->text - 1;
  for (; *piece != L'\0' && message->length < room; piece++) message->text[message->length++] = *piece;
  message->text[message->length] = L'\0';
}

/* The piece as it stands between the quotes of a JSON text. */
static void add_escaped(struct message *message, const wchar_t *piece) {
  for (; *piece != L'\0'; piece++) {
    wchar_t escaped[8] = {*piece};
    if (*piece == L'"' || *piece == L'\\') swprintf(escaped, 8, L"\\%lc", *piece);
    else if (*piece < 0x20) swprintf(escaped, 8, L"\\u%04x", (unsigned)*piece);
    add(message, escaped);
  }
}

/* Windows' words for an error, and its number. */
static void add_error(struct message *message, unsigned long error) {
  wchar_t words[512];
  const DWORD flags = FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS | FORMAT_MESSAGE_MAX_WIDTH_MASK;
  DWORD length = FormatMessageW(flags, NULL, error, 0, words, sizeof words / sizeof *words, NULL);
  while (length > 0 && words[length - 1] <= L' ') words[--length] = L'\0';
  wchar_t number[32];
  swprintf(number, 32, L" (error %lu)", error);
  add(message, L": ");
  if (length > 0) add_escaped(message, words);
  add(message, number);
}

static void write_utf8(DWORD stream, const wchar_t *text) {
  /* A character of UTF-16 takes at most three bytes. */
  char bytes[3 * 4096];
  int length = WideCharToMultiByte(CP_UTF8, 0, text, -1, bytes, sizeof bytes, NULL, NULL);
  DWORD written = 0;
  if (length > 1) WriteFile(GetStdHandle(stream), bytes, (DWORD)length - 1, &written, NULL);
}

void tell(const wchar_t *what, const wchar_t *which, const wchar_t *advice, unsigned long error) {
  wchar_t path[TEXT_MAX];
  wchar_t name[TEXT_MAX];
  if (!own_path(path) || !program_name(path, name)) wcscpy(name, L"launcher");
  struct message message = {.length = 0};
  bool is_json = is_cni_call();
  void (*add_piece)(struct message *, const wchar_t *) = is_json ? add_escaped : add;
  if (is_json) add(&message, L"{\n    \"code\": 999,\n    \"msg\": \"");
  add_piece(&message, name);
  add(&message, L": ");
  add_piece(&message, what);
  add_piece(&message, which);
  if (error != 0) add_error(&message, error);
  add(&message, is_json ? L"\",\n    \"details\": \"" : L"\n    ");
  add_piece(&message, advice);
  add(&message, is_json ? L"\"\n}\n" : L"\n");
  write_utf8(is_json ? STD_OUTPUT_HANDLE : STD_ERROR_HANDLE, message.text);
}
