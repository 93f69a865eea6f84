/* Times of one RocksDB library, by its C API, for benchmarks/assertions.py.
   usage: assertions LIBRARY FOLDER VALUE_BYTES ENTRIES MEMTABLES     (an even number of memtables: half of them have a WAL)
   Prints CPU microseconds per entry: put, put with a WAL, Get of a key that the memtable lacks, flush, compaction, Get from
   the block cache, Next. */
#include "rocksdb_api.h"

/* Write a random key, even, or odd if `lacking`. */
static void next_key(char *key, uint64_t keys, int lacking) { write_key(key, below(keys) * 2 + lacking); }

int main(int argc, char **argv) {
  if (argc != 6 || !(library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL))) { fprintf(stderr, "no library\n"); return 1; }
  long value_bytes = atol(argv[3]), entries = atol(argv[4]), memtables = atol(argv[5]);
  STORE_FUNCTIONS
  FUNCTION(void *, open, void *, const char *, char **)
  FUNCTION(char *, get, void *, void *, const char *, size_t, size_t *, char **)
  FUNCTION(void *, create_iterator, void *, void *)
  FUNCTION(void, iter_seek_to_first, void *)
  FUNCTION(void, iter_next, void *)

  void *options = options_create(), *table = block_based_options_create();
  options_set_create_if_missing(options, 1);
  options_set_write_buffer_size(options, 1ull << 30);
  options_set_compression(options, 0);
  options_set_disable_auto_compactions(options, 1);
  block_based_options_set_block_cache(table, cache_create_lru(4ull << 30));
  options_set_block_based_table_factory(options, table);
  CHECKED(void *db = open(options, argv[2], &error))
  void *writes = writeoptions_create(), *reads = readoptions_create(), *flushes = flushoptions_create();
  char *value = malloc(value_bytes), key[16];
  for (long i = 0; i < value_bytes; i++) value[i] = (char)(i * 131 ^ i >> 3);
  uint64_t keys = entries * memtables;
  double put_us[2] = {0, 0}, lacking_us = 0, flush_us = 0;
  for (long m = 0; m < memtables; m++) {
    writeoptions_disable_WAL(writes, m % 2 == 0);
    double begin = cpu_us(CLOCK_THREAD_CPUTIME_ID);
    for (long i = 0; i < entries; i++) { next_key(key, keys, 0); put(db, writes, key, 16, value, value_bytes, &error); }
    put_us[m % 2] += cpu_us(CLOCK_THREAD_CPUTIME_ID) - begin;
    if (m == 0) {
      begin = cpu_us(CLOCK_THREAD_CPUTIME_ID);
      for (long i = 0; i < entries; i++) { size_t size; next_key(key, keys, 1); free(get(db, reads, key, 16, &size, &error)); }
      lacking_us = cpu_us(CLOCK_THREAD_CPUTIME_ID) - begin;
    }
    begin = cpu_us(CLOCK_PROCESS_CPUTIME_ID);
    CHECKED(flush(db, flushes, &error))
    flush_us += cpu_us(CLOCK_PROCESS_CPUTIME_ID) - begin;
  }
  double begin = cpu_us(CLOCK_PROCESS_CPUTIME_ID);
  compact_range(db, NULL, 0, NULL, 0);
  double compaction_us = cpu_us(CLOCK_PROCESS_CPUTIME_ID) - begin, cached_us = 0;
  for (int again = 0; again < 2; again++) {  /* the first time fills the cache */
    begin = cpu_us(CLOCK_THREAD_CPUTIME_ID);
    for (uint64_t i = 0; i < keys; i++) { size_t size; next_key(key, keys, 0); free(get(db, reads, key, 16, &size, &error)); }
    cached_us = cpu_us(CLOCK_THREAD_CPUTIME_ID) - begin;
  }
  void *iterator = create_iterator(db, reads);
  iter_seek_to_first(iterator);
  begin = cpu_us(CLOCK_THREAD_CPUTIME_ID);
  for (long i = 0; i < entries; i++) iter_next(iterator);
  double next_us = cpu_us(CLOCK_THREAD_CPUTIME_ID) - begin;
  double half = entries * (memtables / 2), all = (double)keys;
  printf("%f %f %f %f %f %f %f\n", put_us[0] / half, put_us[1] / half, lacking_us / entries, flush_us / all,
         compaction_us / all, cached_us / all, next_us / entries);
  return 0;
}
