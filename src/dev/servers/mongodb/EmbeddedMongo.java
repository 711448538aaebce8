import de.bwaldvogel.mongo.MongoCollection;
import de.bwaldvogel.mongo.MongoDatabase;
import de.bwaldvogel.mongo.MongoServer;
import de.bwaldvogel.mongo.backend.CollectionOptions;
import de.bwaldvogel.mongo.backend.Index;
import de.bwaldvogel.mongo.backend.IndexKey;
import de.bwaldvogel.mongo.backend.h2.H2Backend;
import de.bwaldvogel.mongo.backend.h2.H2Database;
import de.bwaldvogel.mongo.bson.Document;
import de.bwaldvogel.mongo.wire.message.MongoMessage;
import io.netty.channel.Channel;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Semaphore;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.function.Supplier;
import org.h2.mvstore.MVMap;
import org.h2.mvstore.MVStore;

/**
 * A server with MongoDB's wire protocol for machines without mongod: mongo-java-server on H2, changed to confirm a
 * write only when it has been committed to the file, and to return documents as they were when they were read. For
 * development only: a killed process loses no data, but a power cut may lose some.
 *
 * Usage: EmbeddedMongo (data folder) (port) (address; loopback if absent). Exits when its standard input closes, so that
 * it never outlives its launcher.
 */
public final class EmbeddedMongo {
    public static void main(String[] args) throws IOException {
        Path folder = Files.createDirectories(Path.of(args[0]));
        MVStore store = new MVStore.Builder()
            .fileName(folder.resolve("data.mv").toString())
            .cacheSize(64)
            // Each commit writes every changed page as a whole, so writes to small pages take less CPU time.
            .pageSplitSize(4_096)
            .autoCommitDisabled()
            .open();
        // With H2's default of 45 s the file would grow by every write of the last 45 s.
        store.setRetentionTime(5_000);
        DurableBackend backend = new DurableBackend(store);
        MongoServer server = new MongoServer(backend);
        server.bind(args.length > 2 ? args[2] : "127.0.0.1", Integer.parseInt(args[1]));
        Runtime.getRuntime().addShutdownHook(new Thread(backend::commitAndClose));
        System.out.println("ready");
        while (System.in.read() >= 0) {
            // Input is ignored; only its end matters.
        }
        System.exit(0);
    }

    /** Group commit: each write waits for the next commit, and one commit serves all waiting writes. */
    private static final class DurableBackend extends H2Backend {
        /** The version of MongoDB 5.0; current drivers reject version 8, which the library reports. */
        private static final int WIRE_VERSION = 13;
        private static final Set<String> READS = Set.of(
            "hello", "ismaster", "ping", "find", "getmore", "count", "distinct", "aggregate", "killcursors", "endsessions",
            "listcollections", "listdatabases", "listindexes", "buildinfo", "serverstatus", "collstats", "dbstats");

        private final MVStore store;
        private final ReentrantReadWriteLock lock = new ReentrantReadWriteLock();
        private final Semaphore waiting = new Semaphore(0);
        /** Guarded by `lock`: written under the write lock, read under the read lock. */
        private CompletableFuture<Void> nextCommit = new CompletableFuture<>();

        DurableBackend(MVStore store) {
            super(store);
            this.store = store;
            Thread committer = new Thread(this::commitForWaiting, "committer");
            committer.setDaemon(true);
            committer.start();
        }

        @Override
        protected MongoDatabase openOrCreateDatabase(String name) {
            return new H2Database(name, getMvStore(), getCursorRegistry()) {
                @Override
                protected MongoCollection<Object> openOrCreateCollection(String collection, CollectionOptions options) {
                    String namespace = getFullCollectionNamespace(collection);
                    MVMap<Object, Document> documents = StoredMaps.documents(getMvStore(), namespace);
                    MVMap<String, Object> sizes = getMvStore().openMap("meta." + namespace);
                    return new StoredCollection(this, collection, options, documents, sizes, cursorRegistry);
                }

                @Override
                protected Index<Object> openOrCreateUniqueIndex(
                    String collection, String index, List<IndexKey> keys, boolean sparse) {
                    String namespace = getFullCollectionNamespace(collection);
                    return new StoredIndex(StoredMaps.places(getMvStore(), namespace, index), index, keys, sparse);
                }

                @Override
                protected void dropIndex(MongoCollection<Object> collection, String index) {
                    super.dropIndex(collection, index);
                    StoredMaps.dropPlaces(getMvStore(), getFullCollectionNamespace(collection.getCollectionName()), index);
                }
            };
        }

        @Override
        public Document handleMessage(MongoMessage message) {
            Set<String> keys = message.getDocument().keySet();
            String command = keys.isEmpty() ? "" : keys.iterator().next();
            return answer(command, () -> super.handleMessage(message));
        }

        @Override
        public Document handleCommand(Channel channel, String database, String command, Document query) {
            return answer(command, () -> super.handleCommand(channel, database, command, query));
        }

        private Document answer(String command, Supplier<Document> handler) {
            Document answer = READS.contains(command.toLowerCase()) ? handler.get() : durably(handler);
            if (answer != null && answer.containsKey("maxWireVersion")) answer.put("maxWireVersion", WIRE_VERSION);
            return answer;
        }

        /** A failed command may have written some data, so its response waits for the commit too. */
        private Document durably(Supplier<Document> write) {
            // The library handles some messages as nested commands; only the outer call waits.
            if (lock.getReadHoldCount() > 0) return write.get();
            CompletableFuture<Void> commit;
            lock.readLock().lock();
            try {
                return write.get();
            } finally {
                commit = nextCommit;
                lock.readLock().unlock();
                waiting.release();
                commit.join();
            }
        }

        private void commitForWaiting() {
            while (true) {
                waiting.acquireUninterruptibly();
                waiting.drainPermits();
                CompletableFuture<Void> done;
                // Exclusive: a commit during a write could store a document without its index entry.
                lock.writeLock().lock();
                try {
                    done = nextCommit;
                    nextCommit = new CompletableFuture<>();
                    store.commit();
                } catch (Throwable fault) {
                    System.err.println("The store cannot be written: " + fault);
                    Runtime.getRuntime().halt(1);
                    return;
                } finally {
                    lock.writeLock().unlock();
                }
                done.complete(null);
            }
        }

        /** Never releases the lock, so that no write is confirmed after the store is closed. */
        void commitAndClose() {
            lock.writeLock().lock();
            store.close();
        }
    }
}
