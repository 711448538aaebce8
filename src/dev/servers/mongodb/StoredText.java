import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import org.h2.mvstore.DataUtils;
import org.h2.mvstore.WriteBuffer;

/** Text as its length in bytes and UTF-8. H2 writes its texts one character at a time, which takes several times as long. */
final class StoredText {
    private StoredText() {}

    static void write(WriteBuffer buffer, String text) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        buffer.putVarInt(bytes.length).put(bytes);
    }

    static String read(ByteBuffer buffer) {
        byte[] bytes = new byte[DataUtils.readVarInt(buffer)];
        buffer.get(bytes);
        return new String(bytes, StandardCharsets.UTF_8);
    }
}
