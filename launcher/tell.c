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

/* Windows' words for an error, and its number. */
static void add_error(struct message *message, unsigned long error, bool is_json) {
  wchar_t words[512];
  const DWORD flags = FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS | FORMAT_MESSAGE_MAX_WIDTH_MASK;
  DWORD length = FormatMessageW(flags, NULL, error, 0, words, sizeof words / sizeof *words, NULL);
  while (length > 0 && words[length - 1] <= L' ') words[--length] = L'\0';
  wchar_t number[32];
  swprintf(number, 32, L" (error %lu)", error);
  add_text(message, L": ");
  if (length > 0) add_piece(message, words, is_json, KEPT_BY_OTHERS);
  add_text(message, number);
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
  if (is_json) add_text(&message, L"{\n    \"code\": 999,\n    \"msg\": \"");
  add_piece(&message, name, is_json, KEPT_BY_OTHERS);
  add_text(&message, L": ");
  add_piece(&message, what, is_json, KEPT_BY_OURS);
  add_piece(&message, which, is_json, KEPT_BY_OTHERS);
  if (error != 0) add_error(&message, error, is_json);
  add_text(&message, is_json ? L"\",\n    \"details\": \"" : L"\n    ");
  add_piece(&message, advice, is_json, KEPT_BY_OURS);
  add_text(&message, is_json ? L"\"\n}\n" : L"\n");
  write_utf8(is_json ? STD_OUTPUT_HANDLE : STD_ERROR_HANDLE, message.text);
}
