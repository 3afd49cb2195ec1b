/* What the launcher does with texts alone: command lines, paths, messages. No system is asked, so it also builds for Linux,
 * where it is fuzzed. */
#ifndef MULLION_LAUNCHER_TEXTS_H
#define MULLION_LAUNCHER_TEXTS_H

#include <stdbool.h>
#include <stddef.h>
#include <wchar.h>

/* Windows knows no longer path, and no longer command line. The fuzzer has short ones, so that it meets the end often. */
#ifndef MULLION_TEXT_MAX
#define MULLION_TEXT_MAX 32768
#endif
enum { TEXT_MAX = MULLION_TEXT_MAX };

/* Paths and lines are texts of UTF-16, in buffers of TEXT_MAX. Functions that fill one return false when it is full. */

/*
 * What follows the name of the program on the command line, exactly as it was written: whoever quoted it did it for
 * Node's rules, and nothing that is taken apart has to be put together again. The name ends as Windows' start-up code
 * has it: after the closing quote, or before the first blank.
 */
const wchar_t *arguments_of(const wchar_t *line);
/*
 * The first argument of a service (service.c), which is not Node's: --windows-service, --windows-service=LOG or
 * --windows-service="LOG". Returns what follows it, or NULL when it is not there.
 */
const wchar_t *after_service_flag(const wchar_t *arguments, wchar_t *log);
/* `"NODE" "SCRIPT" ARGUMENTS`. No path has a quote in it: Windows does not allow that. */
bool command_line(wchar_t *line, const wchar_t *node, const wchar_t *script, const wchar_t *arguments);

/* The length of what stands before the last separator. */
size_t folder_length(const wchar_t *path);
/* The last part of a path without ".exe". */
bool program_name(const wchar_t *path, wchar_t *name);
/* "FOLDER\FILE", where FOLDER is the first `length` characters of `folder`. */
bool join_path(wchar_t *path, const wchar_t *folder, size_t length, const wchar_t *file);
/* True for C:\ and \\server, false for what depends on the current folder or drive. */
bool is_absolute(const wchar_t *path);
/* Takes off the prefix of the device namespace, which Node does not take for the path of a script. */
void strip_prefix(wchar_t *path);
/* The next folder of a PATH, ended in place and without its quotes; NULL behind the last one. */
wchar_t *next_folder(wchar_t **path);

/* A text that is built up piece by piece. */
struct message {
  wchar_t text[4096];
  size_t length;
};

/* How much room pieces leave: those of others for all of ours, ours for what ends the message. */
enum { KEPT_BY_OTHERS = 512, KEPT_BY_OURS = 16 };

/* Punctuation of ours, as it is. */
void add_text(struct message *message, const wchar_t *piece);
/*
 * A piece, which is cut with "..." where it leaves less than `kept`. Characters that steer a terminal stand as \u001b does;
 * `is_json`: as it stands between the quotes of a JSON text.
 */
void add_piece(struct message *message, const wchar_t *piece, bool is_json, size_t kept);

#endif
