import de.bwaldvogel.mongo.backend.KeyValue;
import de.bwaldvogel.mongo.backend.Missing;
import java.nio.ByteBuffer;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import org.h2.mvstore.DataUtils;
import org.h2.mvstore.WriteBuffer;
import org.h2.mvstore.type.BasicDataType;
import org.h2.mvstore.type.ObjectDataType;

/**
 * Stores and compares keys of an index. H2 cannot compare such keys: it would serialize both of them at each step of a search in a
 * tree.
 */
final class KeyType extends BasicDataType<KeyValue> {
    private static final byte MISSING = 0;
    private static final byte NULL = 1;
    private static final byte STRING = 2;
    private static final byte BOOLEAN = 3;
    private static final byte NUMBER = 4;
    private static final byte TIME = 5;
    private static final byte OTHER = 6;
    private static final int MEMORY_PER_VALUE = 48;

    /** Not safe for several threads at once, so the usual values do not use it. */
    private final ObjectDataType others = new ObjectDataType();

    /** Orders by the kinds of the values first. Any order will do, because the server never reads an index in its order. */
    @Override
    public int compare(KeyValue one, KeyValue other) {
        if (one.size() != other.size()) return Integer.compare(one.size(), other.size());
        for (int i = 0; i < one.size(); i += 1) {
            int difference = compareValues(one.get(i), other.get(i));
            if (difference != 0) return difference;
        }
        return 0;
    }

    private int compareValues(Object one, Object other) {
        byte kind = kindOf(one);
        int difference = Byte.compare(kind, kindOf(other));
        if (difference != 0 || kind == MISSING || kind == NULL) return difference;
        return switch (kind) {
            case STRING -> ((String) one).compareTo((String) other);
            case BOOLEAN -> ((Boolean) one).compareTo((Boolean) other);
            case NUMBER -> ((Double) one).compareTo((Double) other);
            case TIME -> ((Instant) one).compareTo((Instant) other);
            default -> others.compare(one, other);
        };
    }

    private static byte kindOf(Object value) {
        if (value == null) return NULL;
        if (value instanceof String) return STRING;
        if (value instanceof Boolean) return BOOLEAN;
        if (value instanceof Double) return NUMBER;
        if (value instanceof Instant) return TIME;
        return value instanceof Missing ? MISSING : OTHER;
    }

    @Override
    public int getMemory(KeyValue key) {
        int bytes = MEMORY_PER_VALUE;
        for (Object value : key) bytes += MEMORY_PER_VALUE + (value instanceof String text ? text.length() : 0);
        return bytes;
    }

    @Override
    public void write(WriteBuffer buffer, KeyValue key) {
        buffer.putVarInt(key.size());
        for (Object value : key) {
            byte kind = kindOf(value);
            buffer.put(kind);
            switch (kind) {
                case STRING -> StoredText.write(buffer, (String) value);
                case BOOLEAN -> buffer.put((byte) (((Boolean) value) ? 1 : 0));
                case NUMBER -> buffer.putDouble((Double) value);
                case TIME -> buffer.putLong(((Instant) value).getEpochSecond()).putInt(((Instant) value).getNano());
                case OTHER -> others.write(buffer, value);
                default -> { }
            }
        }
    }

    @Override
    public KeyValue read(ByteBuffer buffer) {
        int size = DataUtils.readVarInt(buffer);
        List<Object> values = new ArrayList<>(size);
        for (int i = 0; i < size; i += 1) values.add(readValue(buffer));
        return new KeyValue(values);
    }

    private Object readValue(ByteBuffer buffer) {
        return switch (buffer.get()) {
            case MISSING -> Missing.getInstance();
            case NULL -> null;
            case STRING -> StoredText.read(buffer);
            case BOOLEAN -> buffer.get() != 0;
            case NUMBER -> buffer.getDouble();
            case TIME -> Instant.ofEpochSecond(buffer.getLong(), buffer.getInt());
            default -> others.read(buffer);
        };
    }

    @Override
    public KeyValue[] createStorage(int size) {
        return new KeyValue[size];
    }
}
