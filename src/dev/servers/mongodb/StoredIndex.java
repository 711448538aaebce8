import de.bwaldvogel.mongo.backend.AbstractUniqueIndex;
import de.bwaldvogel.mongo.backend.IndexKey;
import de.bwaldvogel.mongo.backend.KeyValue;
import de.bwaldvogel.mongo.backend.Missing;
import java.util.List;
import java.util.Map;
import org.h2.mvstore.MVMap;

/** An index in a map of H2, which finds the place of a document by its key. */
final class StoredIndex extends AbstractUniqueIndex<Object> {
    private final MVMap<KeyValue, Object> places;

    StoredIndex(MVMap<KeyValue, Object> places, String name, List<IndexKey> keys, boolean sparse) {
        super(name, keys, sparse);
        this.places = places;
    }

    @Override
    protected Object getPosition(KeyValue key) {
        return places.get(key);
    }

    @Override
    protected boolean putKeyPosition(KeyValue key, Object place) {
        return places.putIfAbsent(key, Missing.ofNullable(place)) == null;
    }

    @Override
    protected Object removeDocument(KeyValue key) {
        return places.remove(key);
    }

    @Override
    protected Iterable<Map.Entry<KeyValue, Object>> getIterable() {
        return places.entrySet();
    }

    @Override
    public long getCount() {
        return places.sizeAsLong();
    }

    @Override
    public long getDataSize() {
        return getCount();
    }
}
