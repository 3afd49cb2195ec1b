/* Texts alone: no system is asked. texts.h says what for. */
#include "texts.h"

#include <string.h>

static bool is_blank(wchar_t c) {
  return c == L' ' || c == L'\t';
}

static bool is_separator(wchar_t c) {
  return c == L'\\' || c == L'/';
}

const wchar_t *arguments_of(const wchar_t *line) {
  bool is_quoted = false;
  for (; *line != L'\0' && (is_quoted || *line > L' '); line++) {
    if (*line == L'"') is_quoted = !is_quoted;
  }
  return line;
}

const wchar_t *after_service_flag(const wchar_t *arguments, wchar_t *log) {
  static const wchar_t flag[] = L"--windows-service";
  while (is_blank(*arguments)) arguments++;
  if (wcsncmp(arguments, flag, wcslen(flag)) != 0) return NULL;
  arguments += wcslen(flag);
  log[0] = L'\0';
  if (*arguments == L'=') {
    bool is_quoted = arguments[1] == L'"';
    const wchar_t *path = arguments + (is_quoted ? 2 : 1);
    size_t length = 0;
    while (path[length] != L'\0' && (is_quoted ? path[length] != L'"' : !is_blank(path[length]))) length++;
    if (length >= TEXT_MAX) return NULL;
    wmemcpy(log, path, length);
    log[length] = L'\0';
    arguments = path + length + (is_quoted && path[length] == L'"' ? 1 : 0);
  }
  return *arguments == L'\0' || is_blank(*arguments) ? arguments : NULL;
}

bool command_line(wchar_t *line, const wchar_t *node, const wchar_t *script, const wchar_t *arguments) {
  if (wcslen(node) + wcslen(script) + wcslen(arguments) + 6 >= TEXT_MAX) return false;
  wcscpy(line, L"\"");
  wcscat(line, node);
  wcscat(line, L"\" \"");
  wcscat(line, script);
  wcscat(line, L"\"");
  wcscat(line, arguments);
  return true;
}

size_t folder_length(const wchar_t *path) {
  size_t length = wcslen(path);
  while (length > 0 && !is_separator(path[length - 1])) length--;
  return length > 0 ? length - 1 : 0;
}

/* ".exe" in any letters, as file systems of Windows compare. */
static bool is_exe(const wchar_t *end) {
  static const wchar_t small[] = L".exe", large[] = L".EXE";
  for (size_t i = 0; i < 4; i++) {
    if (end[i] != small[i] && end[i] != large[i]) return false;
  }
  return true;
}

bool program_name(const wchar_t *path, wchar_t *name) {
  size_t folder = folder_length(path);
  const wchar_t *last = folder > 0 || is_separator(path[0]) ? path + folder + 1 : path;
  size_t length = wcslen(last);
  if (length > 4 && is_exe(last + length - 4)) length -= 4;
  if (length == 0 || length >= TEXT_MAX) return false;
  wmemcpy(name, last, length);
  name[length] = L'\0';
  return true;
}

bool join_path(wchar_t *path, const wchar_t *folder, size_t length, const wchar_t *file) {
  size_t rest = wcslen(file);
  if (length + 1 + rest >= TEXT_MAX) return false;
  wmemcpy(path, folder, length);
  if (length == 0 || !is_separator(path[length - 1])) path[length++] = L'\\';
  wmemcpy(path + length, file, rest + 1);
  return true;
}

bool is_absolute(const wchar_t *path) {
  if (is_separator(path[0]) && is_separator(path[1])) return true;
  bool is_letter = (path[0] >= L'A' && path[0] <= L'Z') || (path[0] >= L'a' && path[0] <= L'z');
  return is_letter && path[1] == L':' && is_separator(path[2]);
}

void strip_prefix(wchar_t *path) {
  static const wchar_t share[] = L"\\\\?\\UNC\\";
  static const wchar_t local[] = L"\\\\?\\";
  bool is_share = wcsncmp(path, share, wcslen(share)) == 0;
  if (!is_share && wcsncmp(path, local, wcslen(local)) != 0) return;
  const wchar_t *rest = path + wcslen(is_share ? share : local);
  memmove(path + (is_share ? 2 : 0), rest, (wcslen(rest) + 1) * sizeof *path);
}

wchar_t *next_folder(wchar_t **path) {
  wchar_t *folder = *path;
  if (folder == NULL) return NULL;
  wchar_t *end = wcschr(folder, L';');
  *path = end == NULL ? NULL : end + 1;
  if (end != NULL) *end = L'\0';
  size_t length = wcslen(folder);
  if (length < 2 || folder[0] != L'"' || folder[length - 1] != L'"') return folder;
  folder[length - 1] = L'\0';
  return folder + 1;
}

static const size_t ROOM = sizeof((struct message *)0)->text / sizeof(wchar_t) - 1;

void add_text(struct message *message, const wchar_t *piece) {
  for (; *piece != L'\0' && message->length < ROOM; piece++) message->text[message->length++] = *piece;
  message->text[message->length] = L'\0';
}

/* What steers a terminal: controls, and what turns the direction of text. */
static bool is_steering(wchar_t c) {
  return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x61c || c == 0x200e || c == 0x200f || (c >= 0x202a && c <= 0x202e) ||
         (c >= 0x2066 && c <= 0x2069);
}

/* How one character is shown; returns how many that takes. */
static size_t show(wchar_t c, bool is_json, wchar_t *shown) {
  static const wchar_t digits[] = L"0123456789abcdef";
  if (is_json && (c == L'"' || c == L'\\')) {
    shown[0] = L'\\', shown[1] = c;
    return 2;
  }
  shown[0] = c;
  if (!is_steering(c)) return 1;
  shown[0] = L'\\', shown[1] = L'u';
  for (unsigned i = 0; i < 4; i++) shown[2 + i] = digits[(unsigned)c >> (12 - 4 * i) & 15];
  return 6;
}

void add_piece(struct message *message, const wchar_t *piece, bool is_json, size_t kept) {
  for (; *piece != L'\0'; piece++) {
    wchar_t shown[6];
    size_t length = show(*piece, is_json, shown);
    if (message->length + length + kept > ROOM) {
      add_text(message, L"...");
      return;
    }
    wmemcpy(message->text + message->length, shown, length);
    message->length += length;
  }
  message->text[message->length] = L'\0';
}
