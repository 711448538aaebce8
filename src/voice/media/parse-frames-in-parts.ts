import type { Duplex } from 'node:stream';

type Listener = (this: Duplex, chunk: Buffer) => void;

/**
 * Makes a WebSocket parse what it receives in parts, and nothing more after it was terminated. Otherwise it would process every frame of a
 * chunk that was read already: 64 KiB can hold 10,900 of them.
 * @param raw the connection; the library has just added a listener to it
 * @param bytesAtOnce returns the maximum size of a part
 */
export function parseFramesInParts(raw: Duplex, bytesAtOnce: () => number): void {
  const parse = raw.rawListeners('data').at(-1) as Listener | undefined;
  if (parse === undefined) return;
  // By this property, this listener is removed when the library removes the one that it has added, as for listeners of `once`.
  const read = Object.assign(readInParts, { listener: parse });
  raw.removeListener('data', parse);
  raw.on('data', read);

  function readInParts(chunk: Buffer): void {
    let at = 0;
    // The library removes its listener when it has received the closing frame.
    while (at < chunk.length && !raw.destroyed && raw.rawListeners('data').includes(read)) {
      if (raw.isPaused()) {
        raw.unshift(chunk.subarray(at));
        return;
      }
      const part = chunk.subarray(at, at + bytesAtOnce());
      at += part.length;
      parse?.call(raw, part);
    }
  }
}
