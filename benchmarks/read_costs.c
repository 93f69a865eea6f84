/* CPU time of reads of one RocksDB library, by its C API, for benchmarks/read_costs.py.
   usage: read_costs LIBRARY FOLDER VALUE_BYTES ENTRIES FILES BLOOM_BITS CACHE_BYTES BATCH
   FILES: L0 files, among which the keys alternate; 0: all entries are in one memtable; -n: one sorted run, merged from n files.
   BATCH: keys per MultiGet; 0: Get.
   Prints CPU microseconds per key of the store, per key that it lacks, and per entry of the merge. */
#include "rocksdb_api.h"

enum { READS = 200000, MOST_BATCH = 256 };

static uint64_t common_divisor(uint64_t a, uint64_t b) { return b ? common_divisor(b, a % b) : a; }

int main(int argc, char **argv) {
  if (argc != 9 || !(library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL))) { fprintf(stderr, "no library\n"); return 1; }
  long value_bytes = atol(argv[3]), entries = atol(argv[4]), files = atol(argv[5]), bloom = atol(argv[6]);
  long cache_bytes = atol(argv[7]), batch = atol(argv[8]);
  STORE_FUNCTIONS
  FUNCTION(void, block_based_options_set_filter_policy, void *, void *)
  FUNCTION(void *, filterpolicy_create_bloom_full, int, double)  /* an int before 6.7, a double since: another register */
  FUNCTION(void *, open_column_families, const void *, const char *, int, const char *const *, const void *const *, void **, char **)
  FUNCTION(void *, get_pinned, void *, void *, const char *, size_t, char **)
  OPTIONAL(void, batched_multi_get_cf, void *, void *, void *, size_t, const char *const *, const size_t *, void **, char **, unsigned char)
  FUNCTION(void, pinnableslice_destroy, void *)

  void *options = options_create(), *table = block_based_options_create();
  options_set_create_if_missing(options, 1);
  options_set_write_buffer_size(options, 4ull << 30);
  options_set_compression(options, 0);
  options_set_disable_auto_compactions(options, 1);
  block_based_options_set_block_cache(table, cache_create_lru(cache_bytes));
  if (bloom) block_based_options_set_filter_policy(table, filterpolicy_create_bloom_full((int)bloom, (double)bloom));
  options_set_block_based_table_factory(options, table);
  const char *family_name = "default";
  const void *family_options = options;
  void *family;
  CHECKED(void *db = open_column_families(options, argv[2], 1, &family_name, &family_options, &family, &error))
  void *writes = writeoptions_create(), *reads = readoptions_create();
  void *flushes = flushoptions_create();
  writeoptions_disable_WAL(writes, 1);
  char *value = calloc(1, value_bytes), key[16];
  long parts = labs(files) + !files;
  uint64_t stride = 0x9E3779B97F4A7C15ull % entries;
  while (common_divisor(stride, entries) != 1) stride++;  /* then i * stride % entries takes each value once */
  for (long part = 0; part < parts; part++) {
    for (long i = part; i < entries; i += parts) {
      write_key(key, (files ? (uint64_t)i : (uint64_t)((unsigned __int128)i * stride % entries)) * 2);
      put(db, writes, key, 16, value, value_bytes, &error);
    }
    if (files) { CHECKED(flush(db, flushes, &error)) }
  }
  double merge_us = cpu_us(CLOCK_PROCESS_CPUTIME_ID);
  if (files < 0) compact_range(db, NULL, 0, NULL, 0);
  merge_us = (cpu_us(CLOCK_PROCESS_CPUTIME_ID) - merge_us) / entries;
  if (files) {  /* fill the caches */
    for (long i = 0; i < entries; i++) { write_key(key, i * 2); pinnableslice_destroy(get_pinned(db, reads, key, 16, &error)); }
  }
  char keys[MOST_BATCH][16];
  const char *places[MOST_BATCH];
  size_t sizes[MOST_BATCH];
  void *values[MOST_BATCH];
  char *errors[MOST_BATCH];
  for (int i = 0; i < MOST_BATCH; i++) { places[i] = keys[i]; sizes[i] = 16; }
  for (int lacking = 0; lacking < 2; lacking++) {
    double began_us = 0;
    for (long i = -READS / 4; i < READS; i += batch ? batch : 1) {
      if (i >= 0 && !began_us) began_us = cpu_us(CLOCK_THREAD_CPUTIME_ID);
      if (batch) {
        for (long k = 0; k < batch; k++) write_key(keys[k], below(entries) * 2 + lacking);
        batched_multi_get_cf(db, reads, family, batch, places, sizes, values, errors, 0);
        for (long k = 0; k < batch; k++) if (values[k]) pinnableslice_destroy(values[k]);
      } else {
        write_key(key, below(entries) * 2 + lacking);
        void *found = get_pinned(db, reads, key, 16, &error);
        if (found) pinnableslice_destroy(found);
      }
    }
    printf("%f ", (cpu_us(CLOCK_THREAD_CPUTIME_ID) - began_us) / READS);
  }
  printf("%f\n", merge_us);
  return 0;
}
