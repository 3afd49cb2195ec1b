#include "handles.h"

#include "platform.h"

#include <stdlib.h>
#include <string.h>

/* A handle is `generation << 24 | (slot + 1) << 2`: never 0, never -1, and like those of Windows a multiple of 4. */
#define SLOT_BITS 22
#define SLOTS_MAX ((size_t)1 << 20)

typedef struct {
  handle_kind kind;
  uint64_t generation;
  size_t next_free;
  void *owned;
  char *id;
} handle_slot;

static platform_lock lock = PLATFORM_LOCK_INIT;
static handle_slot *slots;
static size_t slot_count;
/* The first of the list of free slots, counted from 1; 0 for none. */
static size_t first_free;

static bool grow(void) {
  size_t count = slot_count == 0 ? 64 : slot_count * 2;
  if (count > SLOTS_MAX) return false;
  handle_slot *grown = realloc(slots, count * sizeof *slots);
  if (grown == NULL) return false;
  slots = grown;
  for (size_t i = slot_count; i < count; i++) slots[i] = (handle_slot){.next_free = i + 1 < count ? i + 2 : 0};
  first_free = slot_count + 1;
  slot_count = count;
  return true;
}

static handle_slot *find(void *handle, handle_kind kind) {
  uint64_t value = (uint64_t)(uintptr_t)handle;
  size_t slot = (size_t)(value >> 2) & (((size_t)1 << SLOT_BITS) - 1);
  if ((value & 3) != 0 || slot == 0 || slot > slot_count) return NULL;
  handle_slot *found = &slots[slot - 1];
  return found->id != NULL && found->kind == kind && found->generation == value >> 24 ? found : NULL;
}

void *handle_open(handle_kind kind, const char *id, void *owned) {
  void *handle = NULL;
  size_t length = strlen(id);
  char *copy = length < HANDLE_ID_SIZE ? malloc(length + 1) : NULL;
  if (copy == NULL) return NULL;
  memcpy(copy, id, length + 1);
  platform_take(&lock);
  if (first_free != 0 || grow()) {
    size_t slot = first_free;
    handle_slot *opened = &slots[slot - 1];
    first_free = opened->next_free;
    opened->kind = kind;
    opened->owned = owned;
    opened->id = copy;
    /* 40 bits: a slot would have to be used a million million times for a stale handle to be good again. */
    opened->generation = (opened->generation + 1) & 0x7fffffffff;
    handle = (void *)(uintptr_t)(opened->generation << 24 | (uint64_t)slot << 2);
  }
  platform_release(&lock);
  if (handle == NULL) free(copy);
  return handle;
}

bool handle_read(void *handle, handle_kind kind, char id[HANDLE_ID_SIZE]) {
  platform_take(&lock);
  handle_slot *found = find(handle, kind);
  if (found != NULL) strcpy(id, found->id);
  platform_release(&lock);
  return found != NULL;
}

bool handle_close(void *handle, handle_kind kind, void **owned) {
  char *id = NULL;
  platform_take(&lock);
  handle_slot *found = find(handle, kind);
  if (found != NULL) {
    if (owned != NULL) *owned = found->owned;
    id = found->id;
    found->id = NULL;
    found->owned = NULL;
    found->next_free = first_free;
    first_free = (size_t)(found - slots) + 1;
  }
  platform_release(&lock);
  free(id);
  return found != NULL;
}
