import de.bwaldvogel.mongo.MongoCollection;
import de.bwaldvogel.mongo.MongoDatabase;
import de.bwaldvogel.mongo.MongoServer;
import de.bwaldvogel.mongo.backend.CollectionOptions;
import de.bwaldvogel.mongo.backend.CursorRegistry;
import de.bwaldvogel.mongo.backend.Index;
import de.bwaldvogel.mongo.backend.IndexKey;
import de.bwaldvogel.mongo.backend.QueryParameters;
import de.bwaldvogel.mongo.backend.QueryResult;
import de.bwaldvogel.mongo.backend.h2.H2Backend;
import de.bwaldvogel.mongo.backend.h2.H2Collection;
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
 * development only: a killed process loses no data, but a power
 * cut may lose some.
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
            // Each commit writes every changed page as a whole. With H2's default of 16 kB, a write takes half as much CPU again.
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
                /** Opens the same maps as the library does, but with a collection that returns copies. */
                @Override
                protected MongoCollection<Object> openOrCreateCollection(String collection, CollectionOptions options) {
                    String namespace = getFullCollectionNamespace(collection);
                    MVMap<Object, Document> documents = getMvStore().openMap("databases." + namespace);
                    MVMap<String, Object> sizes = getMvStore().openMap("meta." + namespace);
                    return new CopyingCollection(this, collection, options, documents, sizes, cursorRegistry);
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

    /**
     * Returns copies. The library returns the stored documents, which later updates change before the response is sent:
     * a counter then shows the value of another client's update.
     */
    private static final class CopyingCollection extends H2Collection {
        CopyingCollection(
            MongoDatabase database, String name, CollectionOptions options, MVMap<Object, Document> documents,
            MVMap<String, Object> sizes, CursorRegistry cursors) {
            super(database, name, options, documents, sizes, cursors);
        }

        /**
         * Uses an index for the fields it has, and compares the other ones with the documents found. The library reads
         * the whole collection for each query that has more fields than an index, such as an update of one document
         * with a condition.
         */
        @Override
        protected QueryResult queryDocuments(
            Document query, Document orderBy, int numberToSkip, int limit, int batchSize, Document fieldSelector) {
            for (Index<Object> index : getIndexes()) {
                Document indexed = indexedPart(query, index);
                if (indexed == null || !index.canHandle(indexed)) continue;
                return matchDocuments(
                    query, index.getPositions(indexed), orderBy, numberToSkip, limit, batchSize, fieldSelector);
            }
            return super.queryDocuments(query, orderBy, numberToSkip, limit, batchSize, fieldSelector);
        }

        /** The fields of an index in a query; null if the query does not have all of them. */
        private static Document indexedPart(Document query, Index<Object> index) {
            Document part = new Document();
            for (IndexKey key : index.getKeys()) {
                if (!query.containsKey(key.getKey())) return null;
                part.put(key.getKey(), query.get(key.getKey()));
            }
            return part;
        }

        @Override
        public synchronized Document findAndModify(Document query) {
            return super.findAndModify(query).cloneDeeply();
        }

        @Override
        public synchronized QueryResult handleQuery(QueryParameters query) {
            QueryResult found = super.handleQuery(query);
            List<Document> copies = found.collectDocuments().stream().map(Document::cloneDeeply).toList();
            return new QueryResult(copies, found.getCursorId());
        }
    }
}
