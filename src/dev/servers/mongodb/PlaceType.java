import java.nio.ByteBuffer;
import org.h2.mvstore.WriteBuffer;
import org.h2.mvstore.type.BasicDataType;
import org.h2.mvstore.type.ObjectDataType;

/** Stores the place of a document, which is its `_id`, almost always a text. Reads what H2 has stored, and has its order. */
final class PlaceType extends BasicDataType<Object> {
    /** H2's tags are not negative. */
    private static final byte TAG = -1;

    private final ObjectDataType others = new ObjectDataType();

    @Override
    public int compare(Object one, Object other) {
        if (one instanceof String first && other instanceof String second) return first.compareTo(second);
        return others.compare(one, other);
    }

    @Override
    public int getMemory(Object place) {
        return others.getMemory(place);
    }

    @Override
    public void write(WriteBuffer buffer, Object place) {
        if (place instanceof String text) StoredText.write(buffer.put(TAG), text);
        else others.write(buffer, place);
    }

    @Override
    public Object read(ByteBuffer buffer) {
        if (buffer.get(buffer.position()) != TAG) return others.read(buffer);
        buffer.get();
        return StoredText.read(buffer);
    }

    @Override
    public Object[] createStorage(int size) {
        return new Object[size];
    }
}
