/* Starts Node with the bundle that lies beside this executable: NAME.exe runs NAME.cjs. README.md tells the idea. */
#ifndef MULLION_LAUNCHER_H
#define MULLION_LAUNCHER_H

#include "texts.h"

#include <windows.h>

/* What is started. */
struct launch {
  /* What follows on the command line of this process, with the blank before it. */
  const wchar_t *arguments;
  wchar_t node[TEXT_MAX];
  /* The command line that Node gets. */
  wchar_t line[TEXT_MAX];
};

/* launcher.c */

/* Finds Node and the bundle. False after it has told what is missing. */
bool prepare(struct launch *launch);
/* Starts Node in a job that ends with this process. False with Windows' last error. */
bool start_node(const struct launch *launch, PROCESS_INFORMATION *process);

/*
 * service.c: runs it as the service that Windows has started this process for. `log` is the file that gets what is said;
 * empty: none. Returns the exit code.
 */
int run_service(struct launch *launch, const wchar_t *log);

/* find-node.c. Functions that fill a path return false when it is full. */

/* The path of this executable. */
bool own_path(wchar_t *path);
/* The path with all symbolic links followed. */
bool real_path(const wchar_t *path, wchar_t *real);
bool is_file(const wchar_t *path);
/* MULLION_NODE, beside the executable, PATH. False after it has told what to do. */
bool find_node(const wchar_t *const *homes, size_t count, wchar_t *node);

/* tell.c */

/* How the launcher ends when it could not start anything: 1 for a CNI plugin, as its contract says, else 2. */
int failure_status(void);
/*
 * Tells what is wrong and what to do: two lines on the standard error, or, where a runtime calls a CNI plugin (which it
 * does with CNI_COMMAND set), an error object on the standard output. `error` is Windows' number, 0 for none.
 */
void tell(const wchar_t *what, const wchar_t *which, const wchar_t *advice, unsigned long error);

#endif
