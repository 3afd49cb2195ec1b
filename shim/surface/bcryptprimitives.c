/* bcryptprimitives.dll for Wine 8, which lacks it: programs of Go 1.22 and later do not start without ProcessPrng. */
#include <stdbool.h>
#include <windows.h>

/* SystemFunction036 of advapi32 is RtlGenRandom, the system's random numbers. */
BOOLEAN NTAPI SystemFunction036(PVOID bytes, ULONG length);

BOOL WINAPI ProcessPrng(PBYTE bytes, SIZE_T length) {
  while (length > 0) {
    ULONG part = length < 65536 ? (ULONG)length : 65536;
    if (!SystemFunction036(bytes, part)) return FALSE;
    bytes += part;
    length -= part;
  }
  return TRUE;
}
