/* What assertions.c and read_costs.c share: functions of a RocksDB library by name, times, random numbers and keys. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void *library;
static char *error;
static uint64_t state = 88172645463325252ull;

#define OPTIONAL(result, name, ...) \
  result (*name)(__VA_ARGS__) = (result (*)(__VA_ARGS__))dlsym(library, "rocksdb_" #name);
#define FUNCTION(result, name, ...) \
  OPTIONAL(result, name, __VA_ARGS__) \
  if (!name) { fprintf(stderr, "%s: no rocksdb_%s\n", argv[1], #name); return 1; }
#define CHECKED(call) call; if (error) { fprintf(stderr, "%s\n", error); return 1; }
/* Functions with which both open, fill and compact a store. */
#define STORE_FUNCTIONS \
  FUNCTION(void *, options_create, void) \
  FUNCTION(void, options_set_create_if_missing, void *, unsigned char) \
  FUNCTION(void, options_set_write_buffer_size, void *, size_t) \
  FUNCTION(void, options_set_compression, void *, int) \
  FUNCTION(void, options_set_disable_auto_compactions, void *, int) \
  FUNCTION(void, options_set_block_based_table_factory, void *, void *) \
  FUNCTION(void *, block_based_options_create, void) \
  FUNCTION(void, block_based_options_set_block_cache, void *, void *) \
  FUNCTION(void *, cache_create_lru, size_t) \
  FUNCTION(void *, writeoptions_create, void) \
  FUNCTION(void, writeoptions_disable_WAL, void *, int) \
  FUNCTION(void *, readoptions_create, void) \
  FUNCTION(void *, flushoptions_create, void) \
  FUNCTION(void, put, void *, void *, const char *, size_t, const char *, size_t, char **) \
  FUNCTION(void, flush, void *, void *, char **) \
  FUNCTION(void, compact_range, void *, const char *, size_t, const char *, size_t)

static double cpu_us(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return now.tv_sec * 1e6 + now.tv_nsec * 1e-3;
}

/* Return a random number below `bound` (xorshift). */
static uint64_t below(uint64_t bound) {
  state ^= state << 13; state ^= state >> 7; state ^= state << 17;
  return state % bound;
}

/* Write `number` as a key of 16 bytes. Numbers of the store are even. */
static void write_key(char *key, uint64_t number) {
  number = __builtin_bswap64(number);
  memset(key, 0, 16);
  memcpy(key, &number, 8);
}
