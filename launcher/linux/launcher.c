// A plugin as a runtime on Linux calls it. It hands the call to the service of HNS, where one runs, and prints what comes
// back; else, and whenever anything is unusual before the call has begun, it runs the script behind its own end, which
// starts Node. README.md tells the protocol.
#include "system.h"

enum {
  STDIN = 0,
  STDOUT = 1,
  STDERR = 2,
  HERE = -100, // AT_FDCWD
  CLOSE_ON_EXEC = 02000000,
  STDIN_BYTES_MAX = 10485760 + 65536, // one chunk more than the largest configuration: it is seen to be too large
  SCRIPT_BYTES_MAX = 65536,
  HEAD_BYTES_MAX = 1 << 20,
  BEGIN_SECONDS = 5, // until the service takes the call
};

// Until the service answers: longer than a runtime waits. Tests build it with less.
#ifndef END_SECONDS
#define END_SECONDS 240
#endif

static const char TRAILER[] = "mullion\1";
static const char MAGIC[] = "mullcni1";
static const char PLUGIN_SOCKET[] = ".cni";

struct unix_address {
  uint16_t family;
  char path[108];
};

struct peer {
  int32_t pid;
  uint32_t uid, gid;
};

struct seconds {
  int64_t seconds, microseconds;
};

static char script[SCRIPT_BYTES_MAX + 1];
static char head[HEAD_BYTES_MAX];
static size_t head_bytes;
static char chunk[65536];
static char **environment;

// The compiler calls these by itself.
void *memcpy(void *restrict to, const void *restrict from, size_t count) {
  for (size_t i = 0; i < count; i++) ((char *)to)[i] = ((const char *)from)[i];
  return to;
}

void *memset(void *to, int value, size_t count) {
  for (size_t i = 0; i < count; i++) ((char *)to)[i] = (char)value;
  return to;
}

static size_t length_of(const char *text) {
  size_t count = 0;
  while (text[count] != 0) count++;
  return count;
}

static int is_equal(const char *a, const char *b, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (a[i] != b[i]) return 0;
  return 1;
}

static long call(long number, long a, long b, long c) {
  long result;
  do result = system_call(number, a, b, c, 0, 0);
  while (result == -ERROR_INTR);
  return result;
}

static _Noreturn void end(int status) {
  for (;;) system_call(CALL_EXIT, status, 0, 0, 0, 0);
}

// The value of a variable; an empty one when it is not set.
static const char *variable(const char *name) {
  size_t count = length_of(name);
  for (char **each = environment; *each != 0; each++)
    if (is_equal(*each, name, count) && (*each)[count] == '=') return *each + count + 1;
  return "";
}

// Waits where a descriptor that does not block has no room, or nothing yet.
static void wait_for(int file, short events) {
  struct {
    int file;
    short events, happened;
  } poll = {file, events, 0};
  call(CALL_POLL, (long)&poll, 1, 0);
}

static long read_some(int file, char *to, size_t count) {
  for (;;) {
    long got = call(CALL_READ, file, (long)to, (long)count);
    if (got != -ERROR_AGAIN || file != STDIN) return got;
    wait_for(file, 1);
  }
}

// 0, or what went wrong.
static long write_all(int file, const char *from, size_t count) {
  while (count > 0) {
    long written = call(CALL_WRITE, file, (long)from, (long)count);
    if (written == -ERROR_AGAIN && (file == STDOUT || file == STDERR)) {
      wait_for(file, 4);
      continue;
    }
    if (written <= 0) return written == 0 ? -ERROR_IO : written;
    from += written;
    count -= (size_t)written;
  }
  return 0;
}

static int read_exactly(int file, char *to, size_t count) {
  while (count > 0) {
    long got = read_some(file, to, count);
    if (got <= 0) return 0;
    to += got;
    count -= (size_t)got;
  }
  return 1;
}

static void say(int file, const char *text) { write_all(file, text, length_of(text)); }

// For what no script can tell any more: a runtime expects an error on stdout, people theirs on stderr.
static _Noreturn void fail(int code, const char *message, const char *advice) {
  if (variable("CNI_COMMAND")[0] == 0) {
    say(STDERR, message);
    say(STDERR, "\n    ");
    say(STDERR, advice);
    say(STDERR, "\n");
    end(2);
  }
  say(STDOUT, "{\n    \"code\": ");
  say(STDOUT, code == 11 ? "11" : "999");
  say(STDOUT, ",\n    \"msg\": \"");
  say(STDOUT, message);
  say(STDOUT, "\",\n    \"details\": \"");
  say(STDOUT, advice);
  say(STDOUT, "\"\n}");
  end(1);
}

// The script, which ends this file: its text, its length in eight bytes, and a mark.
static int read_script(void) {
  struct {
    uint64_t bytes;
    char mark[8];
  } trailer;
  int file = (int)system_call(CALL_OPENAT, HERE, (long)"/proc/self/exe", CLOSE_ON_EXEC, 0, 0);
  if (file < 0) return 0;
  long size = system_call(CALL_LSEEK, file, 0, 2, 0, 0);
  if (size < (long)sizeof trailer) return 0;
  if (system_call(CALL_PREAD, file, (long)&trailer, sizeof trailer, size - (long)sizeof trailer, 0) != sizeof trailer)
    return 0;
  if (!is_equal(trailer.mark, TRAILER, sizeof trailer.mark) || trailer.bytes > SCRIPT_BYTES_MAX) return 0;
  long at = size - (long)sizeof trailer - (long)trailer.bytes;
  if (at < 0 || system_call(CALL_PREAD, file, (long)script, (long)trailer.bytes, at, 0) != (long)trailer.bytes)
    return 0;
  system_call(CALL_CLOSE, file, 0, 0, 0, 0);
  return 1;
}

static char *words[1024];

enum { DEFAULT = 0, IGNORE = 1 };

// What a pipe without a reader does to this process, and to what it starts.
static void on_broken_pipe(unsigned long what) {
  struct {
    unsigned long handler, flags, restorer, mask;
  } action = {what, 0, 0, 0};
  system_call(CALL_SIGACTION, 13, (long)&action, 0, 8, 0);
}

static _Noreturn void start_node(char **argv) {
  int count = 0;
  words[count++] = "sh";
  words[count++] = "-c";
  words[count++] = script;
  for (int i = 0; argv[i] != 0; i++) {
    if (count == (int)(sizeof words / sizeof *words) - 1) fail(999, "too many arguments", "A plugin needs none.");
    words[count++] = argv[i];
  }
  on_broken_pipe(DEFAULT);
  system_call(CALL_EXECVE, (long)"/bin/sh", (long)words, (long)environment, 0, 0);
  fail(999, "/bin/sh cannot be started", "The launcher of Mullion needs it where no service of HNS answers.");
}

static int add_text(const char *text, size_t count) {
  if (head_bytes + count + 1 > sizeof head) return 0;
  memcpy(head + head_bytes, text, count);
  head_bytes += count;
  head[head_bytes++] = 0;
  return 1;
}

// Where this process is, so that a service that sees other files is not asked to do its work.
static int add_link(const char *path) {
  char target[64];
  long count = system_call(CALL_READLINKAT, HERE, (long)path, (long)target, sizeof target, 0);
  return count > 0 && add_text(target, (size_t)count);
}

// What the call is: the line of the script that says whose launcher this is, the place, the arguments, the variables.
static int build_head(char **argv) {
  static char folder[4096];
  const char *mark = script;
  while (*mark != 0 && *mark != '\n') mark++;
  if (*mark == '\n') mark++;
  size_t count = 0;
  while (mark[count] != 0 && mark[count] != '\n') count++;
  memcpy(head, MAGIC, 8);
  head_bytes = 12; // and the length
  if (!add_text(mark, count)) return 0;
  if (system_call(CALL_GETCWD, (long)folder, sizeof folder, 0, 0, 0) <= 0) return 0;
  if (!add_text(folder, length_of(folder))) return 0;
  if (!add_link("/proc/self/ns/mnt") || !add_link("/proc/self/ns/net") || !add_link("/proc/self/ns/pid")) return 0;
  for (int i = 1; argv[i] != 0; i++)
    if (!add_text(argv[i], length_of(argv[i]))) return 0;
  // An empty one ends the arguments: a launcher with an empty argument is left to Node.
  for (int i = 1; argv[i] != 0; i++)
    if (argv[i][0] == 0) return 0;
  if (!add_text("", 0)) return 0;
  for (char **each = environment; *each != 0; each++)
    if (!add_text(*each, length_of(*each))) return 0;
  uint32_t length = (uint32_t)(head_bytes - 12);
  memcpy(head + 8, &length, sizeof length);
  return 1;
}

static int append(char *path, size_t size, size_t *at, const char *text) {
  for (; *text != 0; text++) {
    if (*at + 1 >= size) return 0;
    path[(*at)++] = *text;
  }
  path[*at] = 0;
  return 1;
}

// As find-hns.node.ts looks for HNS. 0: not a socket, or too long a name for one.
static int find_socket(char *path, size_t size) {
  size_t at = 0;
  // Where neither is set, Node looks in the folder for temporary files.
  const char *named = variable("MULLION_HNS");
  if (named[0] != 0) {
    if (!is_equal(named, "unix:", 5)) return 0;
    named += 5;
    if (is_equal(named, "///", 3)) named += 2;
    return named[0] == '/' && append(path, size, &at, named) && append(path, size, &at, PLUGIN_SOCKET);
  }
  unsigned long uid = (unsigned long)system_call(CALL_GETUID, 0, 0, 0, 0, 0);
  const char *runtime = variable("XDG_RUNTIME_DIR");
  int fits;
  if (uid == 0) fits = append(path, size, &at, "/run");
  else if (runtime[0] != 0) fits = append(path, size, &at, runtime);
  else return 0;
  return fits && append(path, size, &at, "/mullion/hns.sock") && append(path, size, &at, PLUGIN_SOCKET);
}

static void set_patience(int socket, int64_t seconds) {
  struct seconds patience = {seconds, 0};
  for (long option = 20; option <= 21; option++) // SO_RCVTIMEO, SO_SNDTIMEO
    system_call(CALL_SETSOCKOPT, socket, 1, option, (long)&patience, sizeof patience);
}

// Connects to a service of this very user. Negative: there is none.
static int connect_service(void) {
  struct unix_address address = {1, {0}};
  if (!find_socket(address.path, sizeof address.path)) return -1;
  int socket = (int)system_call(CALL_SOCKET, 1, 1 | CLOSE_ON_EXEC, 0, 0, 0);
  if (socket < 0) return -1;
  set_patience(socket, BEGIN_SECONDS);
  struct peer peer = {0, 0, 0};
  uint32_t size = sizeof peer;
  unsigned long uid = (unsigned long)system_call(CALL_GETUID, 0, 0, 0, 0, 0);
  if (call(CALL_CONNECT, socket, (long)&address, sizeof address) == 0 &&
      system_call(CALL_GETSOCKOPT, socket, 1, 17, (long)&peer, (long)&size) == 0 && peer.uid == uid)
    return socket;
  system_call(CALL_CLOSE, socket, 0, 0, 0, 0);
  return -1;
}

// Keeps the configuration in memory, where Node finds it if it has to start after all. Negative: it cannot be had.
static int keep_stdin(uint32_t *bytes) {
  int kept = (int)system_call(CALL_MEMFD_CREATE, (long)"configuration", 1, 0, 0, 0);
  if (kept < 0) return -1;
  *bytes = 0;
  while (*bytes < STDIN_BYTES_MAX) {
    long got = read_some(STDIN, chunk, sizeof chunk);
    if (got == 0) break;
    if (got < 0 || write_all(kept, chunk, (size_t)got) != 0) return -1;
    *bytes += (uint32_t)got;
  }
  return kept;
}

static void use_kept(int kept) {
  system_call(CALL_LSEEK, kept, 0, 0, 0, 0);
  system_call(CALL_DUP3, kept, STDIN, 0, 0, 0);
}

static const char LOST[] = "the service of HNS did not end the call";
static const char LOST_ADVICE[] = "Whether it was done is not known. See whether mullion hns serve runs, and call again: DEL takes "
                                  "away what an ADD has begun.";

static _Noreturn void lose(void) { fail(11, LOST, LOST_ADVICE); }

static int send_kept(int socket, int kept, uint32_t bytes) {
  if (write_all(socket, (const char *)&bytes, sizeof bytes) != 0) return 0;
  system_call(CALL_LSEEK, kept, 0, 0, 0, 0);
  while (bytes > 0) {
    long got = read_some(kept, chunk, sizeof chunk);
    if (got <= 0 || write_all(socket, chunk, (size_t)got) != 0) return 0;
    bytes -= (uint32_t)got;
  }
  return 1;
}

static void tell_lost_output(long error) {
  say(STDERR, "cannot write to standard output: ");
  say(STDERR, error == -ERROR_NOSPC ? "ENOSPC" : error == -ERROR_BADF ? "EBADF" : "EIO");
  say(STDERR, "\n");
}

// Prints what the plugin said, and ends as it did.
static _Noreturn void print_answer(int socket) {
  struct {
    uint32_t status, stdout_bytes, stderr_bytes;
  } answer;
  if (!read_exactly(socket, (char *)&answer, sizeof answer)) lose();
  uint32_t left[2] = {answer.stderr_bytes, answer.stdout_bytes};
  int files[2] = {STDERR, STDOUT};
  long error = 0;
  for (int i = 0; i < 2; i++) {
    while (left[i] > 0) {
      size_t count = left[i] < sizeof chunk ? left[i] : sizeof chunk;
      if (!read_exactly(socket, chunk, count)) lose();
      left[i] -= (uint32_t)count;
      if (error == 0) error = write_all(files[i], chunk, count);
      // Who does not read stderr is none of the plugin's business, nor who has gone.
      if (i == 0 || error == -ERROR_PIPE) error = 0;
    }
  }
  if (error == 0) end((int)answer.status);
  tell_lost_output(error);
  end(1);
}

// Returns when the service does not do it; nothing has happened then, and stdin is as it was.
static void ask_service(char **argv) {
  char reply;
  int kept = -1;
  uint32_t bytes = 0;
  if (!build_head(argv)) return;
  int socket = connect_service();
  if (socket < 0) return;
  if (write_all(socket, head, head_bytes) == 0 && read_exactly(socket, &reply, 1)) {
    if (reply == 'A') print_answer(socket);
    if (reply == 'R') {
      kept = keep_stdin(&bytes);
      if (kept < 0) fail(999, "the configuration on standard input cannot be read", "Call the plugin as a runtime does.");
      set_patience(socket, END_SECONDS);
      // A service that has not got all of it has not begun.
      if (send_kept(socket, kept, bytes)) {
        if (!read_exactly(socket, &reply, 1)) lose();
        if (reply == 'A') print_answer(socket);
        if (reply != 'D') lose();
      }
      use_kept(kept);
    }
  }
  system_call(CALL_CLOSE, socket, 0, 0, 0, 0);
}

// All three are there: else a socket of ours would get the number of one of them.
static int has_streams(void) {
  for (int file = STDIN; file <= STDERR; file++)
    if (system_call(CALL_LSEEK, file, 0, 1, 0, 0) == -ERROR_BADF) return 0;
  return 1;
}

_Noreturn void begin(long *stack);

_Noreturn void begin(long *stack) {
  char **argv = (char **)(stack + 1);
  environment = argv + stack[0] + 1;
  on_broken_pipe(IGNORE);
  if (!read_script()) fail(999, "the launcher of Mullion is damaged", "Write it again: mullion programs install");
  // Who names a Node wants that one.
  if (variable("CNI_COMMAND")[0] != 0 && variable("MULLION_NODE")[0] == 0 && has_streams()) ask_service(argv);
  start_node(argv);
}
