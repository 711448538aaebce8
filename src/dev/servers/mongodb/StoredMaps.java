import de.bwaldvogel.mongo.backend.KeyValue;
import de.bwaldvogel.mongo.bson.Document;
import org.h2.mvstore.MVMap;
import org.h2.mvstore.MVStore;

/** Opens the maps of collections and indexes, with forms of documents and keys that take less CPU time than the library's. */
final class StoredMaps {
    private StoredMaps() {}

    /** The name is that of the library, which drops the map. */
    static MVMap<Object, Document> documents(MVStore store, String namespace) {
        return store.openMap(
            "databases." + namespace, new MVMap.Builder<Object, Document>().keyType(new PlaceType()).valueType(new DocumentType()));
    }

    /** Opens the map of an index. It contains the keys that earlier versions stored in the library's map, in another order. */
    static MVMap<KeyValue, Object> places(MVStore store, String namespace, String index) {
        MVMap<KeyValue, Object> places = store.openMap(
            placesOf(namespace, index), new MVMap.Builder<KeyValue, Object>().keyType(new KeyType()).valueType(new PlaceType()));
        String older = namespace + "._index_" + index;
        if (store.hasMap(older)) {
            MVMap<KeyValue, Object> keys = store.openMap(older);
            keys.forEach(places::put);
            store.removeMap(keys);
        }
        return places;
    }

    static void dropPlaces(MVStore store, String namespace, String index) {
        store.removeMap(placesOf(namespace, index));
    }

    /** Begins with the database's name, because the library drops all maps of a database that do. */
    private static String placesOf(String namespace, String index) {
        return namespace + "._keys_" + index;
    }
}
