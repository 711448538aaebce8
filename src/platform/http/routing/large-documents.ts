import type { RawDocument } from '../../mongo/raw-document.js';
import { createSteps, type StepOwner } from './export-steps.js';

/** Documents of this size and more are decoded in turn. A transcript of this size has about 600 turns. */
const LARGE_BYTES = 65_536;

export type LargeDocuments = ReturnType<typeof createLargeDocuments>;

/**
 * Limits the time that large documents, such as long transcripts, take from other requests of the process: they are
 * decoded one after the other, the document of the account that used the least time lately first. Small ones, which are
 * nearly all, are decoded at once.
 */
export function createLargeDocuments() {
  const steps = createSteps({ maxRunning: { live: 1, test: 1 } });

  return {
    /**
     * Decodes a document and converts it.
     * @param createSignal creates a signal that ends the wait of a large document
     * @throws the reason of the signal
     */
    async convert<T, View>(
      owner: StepOwner,
      createSignal: () => AbortSignal,
      document: RawDocument<T>,
      convert: (decoded: T) => View,
    ): Promise<View> {
      const work = () => convert(document.decode());
      return document.bytes < LARGE_BYTES ? work() : steps.run(owner, createSignal(), async () => work());
    },
  };
}
