import java.io.IOException;
import java.io.PrintWriter;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.rocksdb.ColumnFamilyOptions;
import org.rocksdb.CompactRangeOptions;
import org.rocksdb.CompactRangeOptions.BottommostLevelCompaction;
import org.rocksdb.DBOptions;
import org.rocksdb.EnvOptions;
import org.rocksdb.FlushOptions;
import org.rocksdb.IngestExternalFileOptions;
import org.rocksdb.Options;
import org.rocksdb.RateLimiter;
import org.rocksdb.RateLimiterMode;
import org.rocksdb.ReadOptions;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.Snapshot;
import org.rocksdb.SstFileWriter;
import org.rocksdb.Statistics;
import org.rocksdb.TtlDB;
import org.rocksdb.WriteOptions;

/**
 * db_bench in Java, on the RocksDB inside Maven's rocksdbjni: the flags, output and files that a recording needs.
 *
 * <p>Flags of the workload are db_bench's. RocksDB's options are --db.NAME=VALUE and --cf.NAME=VALUE, with names and values
 * as in an OPTIONS file; RocksDB itself reads them. A put copies nothing into the Java heap and allocates nothing, so that
 * no garbage collection disturbs the latencies.
 *
 * <p>--actions has actions beside the clients, with semicolons between them: a name and NAME=VALUE, as in `workload.actions`;
 * `snapshot` takes one. --compaction_filter_ttl opens a TtlDB. The benchmark `ingestfiles` writes the files of the ingestions.
 */
public final class RocksdbjniBench {
    private static final Set<String> WRITES = Set.of("fillseq", "fillrandom", "overwrite");
    private static final Set<String> READS = Set.of("readrandom", "readwhilewriting");
    private static final Set<String> OTHERS = Set.of("stats", "flush", "waitforcompaction", "ingestfiles");
    private static final Set<String> KNOWN = Set.of(
            "benchmarks", "db", "num", "duration", "writes", "reads", "threads", "seed", "key_size", "value_size",
            "value_size_min", "value_size_max", "compression_ratio", "disable_wal", "sync", "statistics",
            "rate_limiter_bytes_per_sec", "rate_limiter_refill_period_us", "rate_limiter_fairness", "rate_limiter_mode",
            "rate_limiter_auto_tuned", "benchmark_write_rate_limit", "benchmark_read_rate_limit", "use_existing_db",
            "histogram", "report_file", "report_interval_seconds", "report_bg_io_stats", "actions", "compaction_filter_ttl");
    /** Flags that take only this value here. */
    private static final Map<String, String> FIXED =
            Map.of("batch_size", "1", "value_size_distribution_type", "fixed", "read_random_exp_range", "0");
    private static final int VALUES_BYTES = 1 << 20;
    private static final int PIECE_BYTES = 100;
    /** Bytes of the time that a TtlDB adds to each value. */
    private static final int TTL_BYTES = 4;

    private final Map<String, String> flags;
    private final Options options;
    private final RocksDB database;
    private final Statistics statistics;
    private final WriteOptions writing = new WriteOptions();
    private final ReadOptions reading = new ReadOptions();

    private RocksdbjniBench(Map<String, String> flags) throws RocksDBException {
        this.flags = flags;
        DBOptions db = databaseOptions(flags).setCreateIfMissing(true);
        double limit = number(flags, "rate_limiter_bytes_per_sec", 0);
        if (limit > 0) {
            db.setRateLimiter(new RateLimiter((long) limit, (long) number(flags, "rate_limiter_refill_period_us", 100_000),
                    (int) number(flags, "rate_limiter_fairness", 10), mode(flags.getOrDefault("rate_limiter_mode", "")),
                    truth(flags, "rate_limiter_auto_tuned")));
        }
        statistics = truth(flags, "statistics") ? new Statistics() : null;
        if (statistics != null) {
            db.setStatistics(statistics);
        }
        options = new Options(db, familyOptions(flags));
        int ttlS = (int) number(flags, "compaction_filter_ttl", 0);
        database = ttlS > 0 ? TtlDB.open(options, flags.get("db"), ttlS, false) : RocksDB.open(options, flags.get("db"));
        writing.setDisableWAL(truth(flags, "disable_wal")).setSync(truth(flags, "sync"));
    }

    public static void main(String[] arguments) {
        System.exit(run(arguments));
    }

    /** Run the benchmarks of a command line; return 0, or 1 after one line that names the error. */
    private static int run(String[] arguments) {
        try {
            Map<String, String> flags = parsed(arguments);
            if (flags.containsKey("version")) {
                RocksDB.loadLibrary();
                System.out.println("rocksdbjni with RocksDB " + RocksDB.rocksdbVersion());
                return 0;
            }
            String refused = refused(flags);
            if (refused != null) {
                System.err.println("rocksdbjni: " + refused + " is not supported; take this part out of the case");
                return 1;
            }
            RocksDB.loadLibrary();
            new RocksdbjniBench(flags).benchmarks();
            return 0;
        } catch (RocksDBException | IOException | InterruptedException | RuntimeException | LinkageError error) {
            System.err.println("rocksdbjni: " + error.getMessage());
            return 1;
        }
    }

    private static Map<String, String> parsed(String[] arguments) {
        Map<String, String> flags = new TreeMap<>();
        for (String argument : arguments) {
            String[] pair = argument.replaceFirst("^--", "").split("=", 2);
            flags.put(pair[0], pair.length == 2 ? pair[1] : "true");
        }
        return flags;
    }

    /** Return the first flag or benchmark that is not supported, or null. */
    private static String refused(Map<String, String> flags) {
        for (Map.Entry<String, String> flag : flags.entrySet()) {
            String name = flag.getKey();
            boolean option = name.startsWith("db.") || name.startsWith("cf.");
            if (!option && !KNOWN.contains(name) && !flag.getValue().equals(FIXED.get(name))) {
                return "--" + name + (FIXED.containsKey(name) ? "=" + flag.getValue() : "");
            }
        }
        for (String name : flags.getOrDefault("benchmarks", "").split(",")) {
            if (!WRITES.contains(name) && !READS.contains(name) && !OTHERS.contains(name)) {
                return "--benchmarks=" + name;
            }
        }
        return flags.containsKey("db") ? null : "a command without --db";
    }

    private static DBOptions databaseOptions(Map<String, String> flags) {
        Properties all = accepted(optionsOf(flags, "db."), DBOptions::getDBOptionsFromProps);
        return all.isEmpty() ? new DBOptions() : DBOptions.getDBOptionsFromProps(all);
    }

    private static ColumnFamilyOptions familyOptions(Map<String, String> flags) {
        Properties all = accepted(optionsOf(flags, "cf."), ColumnFamilyOptions::getColumnFamilyOptionsFromProps);
        ColumnFamilyOptions found =
                all.isEmpty() ? new ColumnFamilyOptions() : ColumnFamilyOptions.getColumnFamilyOptionsFromProps(all);
        return truth(flags, "report_bg_io_stats") ? found.setReportBgIoStats(true) : found;
    }

    /** Parse each option alone, so that the error names the first one that this release does not have; return all. */
    private static Properties accepted(Map<String, String> options, Function<Properties, Object> parse) {
        Properties all = new Properties();
        for (Map.Entry<String, String> option : options.entrySet()) {
            Properties one = new Properties();
            one.setProperty(option.getKey(), option.getValue());
            if (parse.apply(one) == null) {
                throw new IllegalArgumentException("RocksDB " + RocksDB.rocksdbVersion() + " does not accept the option "
                        + option + "; take it out of the case");
            }
            all.putAll(one);
        }
        return all;
    }

    private static Map<String, String> optionsOf(Map<String, String> flags, String scope) {
        Map<String, String> found = new TreeMap<>();
        for (Map.Entry<String, String> flag : flags.entrySet()) {
            if (flag.getKey().startsWith(scope)) {
                found.put(flag.getKey().substring(scope.length()), flag.getValue());
            }
        }
        return found;
    }

    private void benchmarks() throws RocksDBException, IOException, InterruptedException {
        System.out.println("RocksDB:    version " + RocksDB.rocksdbVersion());
        for (String name : flags.get("benchmarks").split(",")) {
            if (name.equals("flush")) {
                database.flush(new FlushOptions().setWaitForFlush(true));
            } else if (name.equals("waitforcompaction")) {
                awaitCompactions();
            } else if (name.equals("stats")) {
                System.out.println("\n" + database.getProperty("rocksdb.stats"));
            } else if (name.equals("ingestfiles")) {
                for (Actor actor : actors(new Shared(number(flags, "duration", 0)))) {
                    actor.writeFiles();
                }
            } else {
                measure(name);
            }
        }
        if (statistics != null) {
            System.out.println("STATISTICS:\n" + statistics);
        }
        database.close();
    }

    /** Wait until nothing is due and nothing runs; what is due but does not start within two seconds has nothing to compact. */
    private void awaitCompactions() throws RocksDBException, InterruptedException {
        for (int idle = 0; idle < 40; idle++) {
            boolean running = database.getLongProperty("rocksdb.num-running-compactions") > 0;
            if (!running && database.getLongProperty("rocksdb.compaction-pending") == 0) {
                return;
            }
            idle = running ? 0 : idle;
            Thread.sleep(50);
        }
    }

    /** Run one benchmark on all its threads, and print db_bench's lines. */
    private void measure(String name) throws IOException, InterruptedException {
        boolean reads = READS.contains(name);
        int threads = (int) number(flags, "threads", 1);
        Shared shared = new Shared(name.equals("fillseq") ? 0 : number(flags, "duration", 0));
        Limiter writeLimit = Limiter.of(number(flags, "benchmark_write_rate_limit", 0));
        Limiter readLimit = Limiter.of(number(flags, "benchmark_read_rate_limit", 0));
        List<Client> clients = new ArrayList<>();
        for (int index = 0; index < threads; index++) {
            clients.add(reads ? new Reader(index, shared, readLimit)
                    : new Writer(index, shared, writeLimit, name.equals("fillseq")));
        }
        Writer background = name.equals("readwhilewriting") ? new Writer(threads, shared, writeLimit, false) : null;
        if (background != null) {
            background.most = Long.MAX_VALUE;
            background.start();
        }
        for (Client client : clients) {
            client.start();
        }
        List<Actor> actors = actors(shared);
        for (Actor actor : actors) {
            actor.start();
        }
        Reporter reporter = new Reporter(shared, flags.get("report_file"), number(flags, "report_interval_seconds", 1));
        shared.begin();
        reporter.start();
        for (Client client : clients) {
            client.join();
        }
        double elapsed = (System.nanoTime() - shared.startNs) * 1e-9;
        shared.ended = true;
        reporter.end();
        if (background != null) {
            background.join();
        }
        for (Actor actor : actors) {
            actor.interrupt();
            actor.join();
        }
        if (shared.failure != null) {
            throw new IllegalStateException(shared.failure.getMessage(), shared.failure);
        }
        Latencies all = new Latencies();
        double busy = 0;
        for (Client client : clients) {
            all.add(client.latencies);
            busy += client.seconds;
        }
        System.out.printf(Locale.ROOT, "%-12s : %11.3f micros/op %d ops/sec %.3f seconds %d operations;%n", name,
                1e6 * busy / Math.max(1, all.count), (long) (all.count / elapsed), elapsed, all.count);
        System.out.print("Microseconds per " + (reads ? "read" : "write") + ":\n" + all);
    }

    /** Everything that the threads of one benchmark share. */
    private static final class Shared {
        final LongAdder operations = new LongAdder();
        final long durationNs;
        private final CountDownLatch gate = new CountDownLatch(1);
        volatile long startNs;
        volatile boolean ended;
        volatile Exception failure;

        Shared(double durationS) {
            durationNs = durationS > 0 ? (long) (durationS * 1e9) : Long.MAX_VALUE;
        }

        void begin() {
            startNs = System.nanoTime();
            gate.countDown();
        }
    }

    /** One thread that repeats an operation and times it. */
    private abstract class Client extends Thread {
        final Shared shared;
        final Limiter limiter;
        final SplittableRandom chance;
        final Latencies latencies = new Latencies();
        final long keys = (long) number(flags, "num", 1_000_000);
        final ByteBuffer key = ByteBuffer.allocateDirect((int) number(flags, "key_size", 16));
        final int valueBytes = valueBytes();
        final int entryBytes = key.capacity() + (int) number(flags, "value_size", 100);
        long most;
        double seconds;

        Client(int index, Shared shared, Limiter limiter, String count) {
            this.shared = shared;
            this.limiter = limiter;
            chance = new SplittableRandom((long) number(flags, "seed", 1) + index);
            most = shared.durationNs < Long.MAX_VALUE ? Long.MAX_VALUE : (long) number(flags, count, keys);
            setDaemon(true);
        }

        abstract void operate() throws RocksDBException;

        /** Amount that one operation takes from the limiter. */
        abstract int cost();

        @Override
        public void run() {
            try {
                shared.gate.await();
                long start = shared.startNs;
                long before = start;
                long now = start;
                for (long done = 0; done < most && !shared.ended && now - start < shared.durationNs; done++) {
                    if (limiter != null) {
                        limiter.take(cost());
                        before = System.nanoTime();  // like db_bench, which does not count the wait for its limiter
                    }
                    operate();
                    now = System.nanoTime();
                    latencies.add(now / 1000 - before / 1000);
                    shared.operations.increment();
                    before = now;
                }
                seconds = (now - start) * 1e-9;
            } catch (RocksDBException | InterruptedException | RuntimeException error) {
                shared.failure = error;
                shared.ended = true;
            }
        }

        void chooseKey(long number) {
            writeKey(number, key);
        }
    }

    /** Write a key as db_bench does: its number in 8 bytes, the highest first, then zeros as text. */
    private static void writeKey(long number, ByteBuffer key) {
        int bytes = Math.min(8, key.capacity());
        for (int place = 0; place < key.capacity(); place++) {
            key.put(place, place < bytes ? (byte) (number >>> 8 * (bytes - 1 - place)) : (byte) '0');
        }
        key.clear();
    }

    /** Return the bytes of a value that is put, without those that a TtlDB adds. */
    private int valueBytes() {
        int all = (int) number(flags, "value_size", 100);
        return number(flags, "compaction_filter_ttl", 0) > 0 ? Math.max(1, all - TTL_BYTES) : all;
    }

    /** Return a thread for each of the actions beside the clients. */
    private List<Actor> actors(Shared shared) {
        List<Actor> found = new ArrayList<>();
        for (String action : flags.getOrDefault("actions", "").split(";")) {
            if (!action.isBlank()) {
                found.add(new Actor(shared, found.size(), action.trim().split(" ")));
            }
        }
        return found;
    }

    /** One thread that does an action once or again and again. */
    private final class Actor extends Thread {
        private final Shared shared;
        private final String name;
        private final Map<String, String> own;
        private final Path folder;
        private final long keys = (long) number(flags, "num", 1_000_000);
        private Snapshot held;

        Actor(Shared shared, int index, String[] words) {
            this.shared = shared;
            name = words[0];
            own = parsed(Arrays.copyOfRange(words, 1, words.length));
            folder = Paths.get(flags.get("db"), "ingest-" + index);
            setDaemon(true);
        }

        @Override
        public void run() {
            try {
                shared.gate.await();
                double everyS = number(own, "every", 0);
                double atS = number(own, "at", everyS);
                for (int turn = 0; !shared.ended && atS * 1e9 < shared.durationNs; turn++, atS += everyS) {
                    if (secondsLeft(atS) < -everyS) {
                        continue;  // the action before took longer than `every`
                    }
                    sleepUntil(atS);
                    act(turn);
                    if (everyS == 0) {
                        break;
                    }
                }
                if (own.containsKey("until")) {
                    sleepUntil(number(own, "until", 0));
                    release();
                }
            } catch (InterruptedException ended) {
                release();
            } catch (RocksDBException | IOException | RuntimeException error) {
                shared.failure = error;
                shared.ended = true;
            }
        }

        private double secondsLeft(double atS) {
            return atS - (System.nanoTime() - shared.startNs) * 1e-9;
        }

        private void sleepUntil(double atS) throws InterruptedException {
            Thread.sleep((long) (1e3 * Math.max(0, secondsLeft(atS))));
        }

        private void act(int turn) throws RocksDBException, IOException {
            if (name.equals("flush")) {
                database.flush(new FlushOptions().setWaitForFlush(true));
            } else if (name.equals("compact")) {
                database.compactRange(database.getDefaultColumnFamily(), null, null, compactRange());
            } else if (name.equals("deleterange")) {
                database.deleteRange(writing, place("begin", turn), place("end", turn));
            } else if (name.equals("deletefilesinrange")) {
                database.deleteFilesInRanges(
                        database.getDefaultColumnFamily(), List.of(place("begin", turn), place("end", turn)), false);
            } else if (name.equals("ingest")) {
                database.ingestExternalFile(
                        files(turn), new IngestExternalFileOptions().setMoveFiles(truth(own, "move_files")));
            } else if (name.equals("snapshot")) {
                release();
                held = database.getSnapshot();
            } else {
                throw new IllegalArgumentException("--actions: " + name + " is not supported; take it out of the case");
            }
        }

        private void release() {
            if (held != null) {
                database.releaseSnapshot(held);
                held = null;
            }
        }

        private CompactRangeOptions compactRange() {
            CompactRangeOptions found = new CompactRangeOptions();
            found.setBottommostLevelCompaction(BottommostLevelCompaction.valueOf(
                    own.getOrDefault("bottommost_level_compaction", "kForceOptimized")));  // db_bench's default
            found.setExclusiveManualCompaction(truth(own, "exclusive_manual_compaction"));
            found.setAllowWriteStall(truth(own, "allow_write_stall")).setChangeLevel(truth(own, "change_level"));
            return found.setTargetLevel((int) number(own, "target_level", -1));
        }

        /** Return the number of the key at `begin` or `end` of the range of a turn. */
        private long keyNumber(String end, int turn) {
            return Math.round(keys * (number(own, end, 0) + turn * number(own, "step", 0)));
        }

        private byte[] place(String end, int turn) {
            ByteBuffer key = ByteBuffer.allocate((int) number(flags, "key_size", 16));
            writeKey(keyNumber(end, turn), key);
            return key.array();
        }

        private List<String> files(int turn) throws IOException {
            try (Stream<Path> found = Files.list(folder.resolve(String.valueOf(turn)))) {
                return found.map(Path::toString).sorted().collect(Collectors.toList());
            }
        }

        /** Write the files of all ingestions, each with all keys of a part of its range. */
        void writeFiles() throws RocksDBException, IOException {
            double everyS = number(own, "every", 0);
            double lastS = name.equals("ingest") ? shared.durationNs * 1e-9 : 0;
            double atS = number(own, "at", everyS);
            for (int turn = 0; atS < lastS && (turn == 0 || everyS > 0); turn++, atS += everyS) {
                Path target = Files.createDirectories(folder.resolve(String.valueOf(turn)));
                long begin = keyNumber("begin", turn);
                long count = keyNumber("end", turn) - begin;
                int files = (int) number(own, "files", 1);
                for (int file = 0; file < files; file++) {
                    writeFile(target.resolve(String.format("%04d.sst", file)), begin + count * file / files,
                            begin + count * (file + 1) / files);
                }
            }
        }

        private void writeFile(Path path, long begin, long end) throws RocksDBException {
            ByteBuffer values = compressible(Math.max(VALUES_BYTES, 2 * valueBytes()), number(flags, "compression_ratio", 0.5),
                    new SplittableRandom(begin));
            ByteBuffer key = ByteBuffer.allocate((int) number(flags, "key_size", 16));
            byte[] value = new byte[valueBytes()];
            try (SstFileWriter writer = new SstFileWriter(new EnvOptions(), options)) {
                writer.open(path.toString());
                for (long number = begin; number < end; number++) {
                    writeKey(number, key);
                    values.clear().position((int) (number * value.length % (VALUES_BYTES - value.length)));
                    values.get(value);
                    writer.put(key.array(), value);
                }
                writer.finish();
            }
        }
    }

    /** Puts of random keys, or of ascending ones. */
    private final class Writer extends Client {
        private final ByteBuffer values;
        private final boolean ascending;
        private long next;

        Writer(int index, Shared shared, Limiter limiter, boolean ascending) {
            super(index, shared, limiter, "writes");
            this.ascending = ascending;
            values = compressible(Math.max(VALUES_BYTES, valueBytes), number(flags, "compression_ratio", 0.5), chance);
        }

        @Override
        void operate() throws RocksDBException {
            chooseKey(ascending ? next++ : chance.nextLong(keys));
            int at = values.limit() + valueBytes <= values.capacity() ? values.limit() : 0;
            values.limit(at + valueBytes).position(at);
            database.put(writing, key, values);
        }

        @Override
        int cost() {
            return entryBytes;
        }
    }

    /** Gets of random keys. */
    private final class Reader extends Client {
        private final ByteBuffer value = ByteBuffer.allocateDirect(Math.max(1, valueBytes));

        Reader(int index, Shared shared, Limiter limiter) {
            super(index, shared, limiter, "reads");
        }

        @Override
        void operate() throws RocksDBException {
            chooseKey(chance.nextLong(keys));
            value.clear();
            database.get(reading, key, value);
        }

        @Override
        int cost() {
            return 1;
        }
    }

    /** Return bytes that compress to about `ratio` of their size: of each piece, the first part is random and repeats. */
    private static ByteBuffer compressible(int size, double ratio, SplittableRandom chance) {
        ByteBuffer bytes = ByteBuffer.allocateDirect(size);
        byte[] piece = new byte[Math.max(1, Math.min(PIECE_BYTES, (int) Math.round(ratio * PIECE_BYTES)))];
        for (int place = 0; place < size; place++) {
            int within = place % PIECE_BYTES;
            if (within < piece.length) {
                piece[within] = (byte) (' ' + chance.nextInt(95));
            }
            bytes.put(piece[within % piece.length]);
        }
        bytes.limit(0);
        return bytes;
    }

    /**
     * Limit shared by all threads, like db_bench's GenericRateLimiter: a tenth of the rate every 100 ms, and nothing for time
     * in which no thread asked.
     */
    private static final class Limiter {
        private static final long PERIOD_NS = 100_000_000;
        private final long portion;
        private long available;
        private long nextNs = System.nanoTime();

        private Limiter(double perSecond) {
            portion = Math.max(1, (long) (perSecond / 10));
        }

        static Limiter of(double perSecond) {
            return perSecond > 0 ? new Limiter(perSecond) : null;
        }

        synchronized void take(int amount) throws InterruptedException {
            while (available < amount) {
                long waitNs = nextNs - System.nanoTime();
                if (waitNs > 0) {
                    Thread.sleep(waitNs / 1_000_000, (int) (waitNs % 1_000_000));
                } else {
                    available += portion;
                    nextNs = System.nanoTime() + PERIOD_NS;
                }
            }
            available -= amount;
        }
    }

    /** Thread that writes db_bench's report file: the operations of all threads in each second. */
    private static final class Reporter extends Thread {
        private final Shared shared;
        private final PrintWriter file;
        private final long intervalNs;
        private long written;

        Reporter(Shared shared, String path, double intervalS) throws IOException {
            this.shared = shared;
            intervalNs = (long) (intervalS * 1e9);
            file = path == null ? null : new PrintWriter(Files.newBufferedWriter(Paths.get(path), StandardCharsets.UTF_8));
            setDaemon(true);
        }

        @Override
        public void run() {
            if (file == null) {
                return;
            }
            file.print("secs_elapsed,interval_qps\n");
            long row = 1;
            try {
                for (; ; row++) {
                    long waitNs = Math.max(0, end(row) - System.nanoTime());
                    Thread.sleep(waitNs / 1_000_000, (int) (waitNs % 1_000_000));
                    write(row);
                }
            } catch (InterruptedException ended) {
                if (System.nanoTime() >= end(row)) {
                    write(row);  // the benchmark ended with a whole second
                }
                file.close();
            }
        }

        private long end(long row) {
            return shared.startNs + row * intervalNs;
        }

        private void write(long row) {
            long now = shared.operations.sum();
            file.print(Math.round(row * intervalNs * 1e-9) + "," + (now - written) + "\n");
            file.flush();
            written = now;
        }

        void end() throws InterruptedException {
            interrupt();
            join();
        }
    }

    /** Latencies in the buckets of RocksDB's histograms, each about 1.5 times as wide as the one before. */
    private static final class Latencies {
        private static final long[] LIMITS_US = limits();
        private final long[] counts = new long[LIMITS_US.length];
        private long count;
        private double sum;
        private double squares;
        private long shortest = Long.MAX_VALUE;
        private long longest;

        /** Return the upper limits: 1, 2, then 1.5 times the one before with all but two digits cut off. */
        private static long[] limits() {
            List<Long> found = new ArrayList<>(List.of(1L, 2L));
            for (double limit = 3.0; limit < 1e12; limit *= 1.5) {
                long scale = 1;
                while ((long) limit / scale >= 110) {
                    scale *= 10;
                }
                found.add((long) limit / scale * scale);
            }
            return found.stream().mapToLong(Long::longValue).toArray();
        }

        void add(long us) {
            int place = Arrays.binarySearch(LIMITS_US, us);
            counts[Math.min(place < 0 ? -place - 1 : place, counts.length - 1)]++;
            count++;
            sum += us;
            squares += (double) us * us;
            shortest = Math.min(shortest, us);
            longest = Math.max(longest, us);
        }

        void add(Latencies other) {
            for (int place = 0; place < counts.length; place++) {
                counts[place] += other.counts[place];
            }
            count += other.count;
            sum += other.sum;
            squares += other.squares;
            shortest = Math.min(shortest, other.shortest);
            longest = Math.max(longest, other.longest);
        }

        /** Return a percentile, interpolated between the limits of its bucket as RocksDB does. */
        private double percentile(double percent) {
            double wanted = count * percent / 100.0;
            double below = 0;
            for (int place = 0; place < counts.length; place++) {
                if (counts[place] > 0 && below + counts[place] >= wanted) {
                    double low = place == 0 ? 0 : LIMITS_US[place - 1];
                    double found = low + (LIMITS_US[place] - low) * (wanted - below) / counts[place];
                    return Math.min(longest, Math.max(shortest, found));
                }
                below += counts[place];
            }
            return longest;
        }

        /** Return the block that db_bench prints, without its table of buckets. */
        @Override
        public String toString() {
            double mean = sum / Math.max(1, count);
            double deviation = Math.sqrt(Math.max(0, squares / Math.max(1, count) - mean * mean));
            return String.format(Locale.ROOT, "Count: %d Average: %.4f  StdDev: %.2f\nMin: %d  Median: %.4f  Max: %d\n"
                    + "Percentiles: P50: %.2f P75: %.2f P99: %.2f P99.9: %.2f P99.99: %.2f\n",
                    count, mean, deviation, count > 0 ? shortest : 0, percentile(50), longest,
                    percentile(50), percentile(75), percentile(99), percentile(99.9), percentile(99.99));
        }
    }

    private static RateLimiterMode mode(String name) {
        return name.equals("kReadsOnly") ? RateLimiterMode.READS_ONLY
                : name.equals("kAllIo") ? RateLimiterMode.ALL_IO : RateLimiterMode.WRITES_ONLY;
    }

    private static double number(Map<String, String> flags, String name, double otherwise) {
        try {
            return flags.containsKey(name) ? Double.parseDouble(flags.get(name)) : otherwise;
        } catch (NumberFormatException error) {
            throw new IllegalArgumentException("--" + name + "=" + flags.get(name) + ": not a number");
        }
    }

    private static boolean truth(Map<String, String> flags, String name) {
        return flags.getOrDefault(name, "false").equals("true");
    }
}
