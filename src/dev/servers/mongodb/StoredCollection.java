import de.bwaldvogel.mongo.MongoDatabase;
import de.bwaldvogel.mongo.backend.CollectionOptions;
import de.bwaldvogel.mongo.backend.CursorRegistry;
import de.bwaldvogel.mongo.backend.Index;
import de.bwaldvogel.mongo.backend.IndexKey;
import de.bwaldvogel.mongo.backend.QueryParameters;
import de.bwaldvogel.mongo.backend.QueryResult;
import de.bwaldvogel.mongo.backend.h2.H2Collection;
import de.bwaldvogel.mongo.bson.Document;
import java.util.List;
import org.h2.mvstore.MVMap;

/**
 * Returns copies. The library returns the stored documents, which later updates change before the response is sent:
 * a counter then shows the value of another client's update.
 */
final class StoredCollection extends H2Collection {
    StoredCollection(
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
