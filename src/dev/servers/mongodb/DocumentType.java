import de.bwaldvogel.mongo.bson.Document;
import de.bwaldvogel.mongo.wire.bson.BsonDecoder;
import de.bwaldvogel.mongo.wire.bson.BsonEncoder;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.nio.ByteBuffer;
import org.h2.mvstore.WriteBuffer;
import org.h2.mvstore.type.BasicDataType;
import org.h2.mvstore.type.ObjectDataType;

/**
 * Stores documents as BSON. H2 would use Java's serialization, which takes several times as long, for each document of
 * each page that a commit writes. Reads what H2 has stored, too, because older data has such documents.
 */
final class DocumentType extends BasicDataType<Document> {
    /** H2's tags are not negative. */
    private static final byte TAG = -1;
    /**
     * Bytes of memory that a decoded document of short fields takes for each byte of its BSON. It decides when a page is split, and
     * how many pages the cache keeps.
     */
    private static final int MEMORY_PER_BYTE = 6;
    private static final int USUAL_BYTES = 1_024;

    private final ObjectDataType older = new ObjectDataType();

    @Override
    public int getMemory(Document document) {
        return MEMORY_PER_BYTE * encoded(document).readableBytes();
    }

    @Override
    public void write(WriteBuffer buffer, Document document) {
        ByteBuf bytes = encoded(document);
        buffer.put(TAG).put(bytes.array(), bytes.arrayOffset(), bytes.readableBytes());
    }

    @Override
    public Document read(ByteBuffer buffer) {
        if (buffer.get(buffer.position()) != TAG) return (Document) older.read(buffer);
        buffer.get();
        ByteBuf bytes = Unpooled.wrappedBuffer(buffer.slice());
        Document document = BsonDecoder.decodeBson(bytes);
        buffer.position(buffer.position() + bytes.readerIndex());
        return document;
    }

    @Override
    public Document[] createStorage(int size) {
        return new Document[size];
    }

    private static ByteBuf encoded(Document document) {
        ByteBuf bytes = Unpooled.buffer(USUAL_BYTES);
        BsonEncoder.encodeDocument(document, bytes);
        return bytes;
    }
}
