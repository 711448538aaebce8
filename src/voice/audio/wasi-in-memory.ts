/** Thrown to end a WASI program that calls `proc_exit`. */
class ProgramExit extends Error {
  constructor(readonly code: number) {
    super(`the program exited with ${code}`);
  }
}

const DIRECTORY = 3;
const FIRST_FILE = 4;
const SUCCESS = 0;
const BAD_DESCRIPTOR = 8;
const NOT_FOUND = 44;

/**
 * Runs a WASI command that writes one file, and returns its bytes. Implements in memory only the system calls that
 * flite needs: `node:wasi` would need a folder on disk per sentence and prints a warning in every process.
 * @param args command line, program name first; the output path is `/out`
 * @returns the bytes of the written file; undefined if the command wrote none
 * @throws Error if the program exits with a code other than 0
 */
export async function runWasiCommand(module: WebAssembly.Module, args: string[]): Promise<Uint8Array | undefined> {
  const files: MemoryFile[] = [];
  let memory: Memory = { view: new DataView(new ArrayBuffer(0)), bytes: new Uint8Array(0) };
  const instance = await WebAssembly.instantiate(module, {
    wasi_snapshot_preview1: systemCalls(args, files, () => {
      // WebAssembly memory that grows becomes a new buffer.
      const { buffer } = instance.exports['memory'] as WebAssembly.Memory;
      if (memory.view.buffer !== buffer) memory = { view: new DataView(buffer), bytes: new Uint8Array(buffer) };
      return memory;
    }),
  });
  try {
    (instance.exports['_start'] as () => void)();
  } catch (error) {
    if (!(error instanceof ProgramExit && error.code === 0)) throw error;
  }
  return files[0]?.content();
}

interface Memory {
  view: DataView;
  bytes: Uint8Array;
}

/** A growing file with a cursor: flite seeks back to fill in the header. */
class MemoryFile {
  private data = new Uint8Array(65_536);
  private size = 0;
  private cursor = 0;

  write(chunk: Uint8Array): void {
    const end = this.cursor + chunk.length;
    if (end > this.data.length) {
      const larger = new Uint8Array(Math.max(end, this.data.length * 2));
      larger.set(this.data);
      this.data = larger;
    }
    this.data.set(chunk, this.cursor);
    this.cursor = end;
    this.size = Math.max(this.size, end);
  }

  seek(offset: number, whence: number): number {
    this.cursor = offset + [0, this.cursor, this.size][whence]!;
    return this.cursor;
  }

  content(): Uint8Array {
    return this.data.slice(0, this.size);
  }
}

function systemCalls(
  args: string[],
  files: MemoryFile[],
  memoryNow: () => Memory,
): Record<string, WebAssembly.ImportFunction> {
  const encoded = args.map((arg) => new TextEncoder().encode(`${arg}\0`));
  const root = new TextEncoder().encode('/');
  return {
    args_sizes_get(countAt: number, bytesAt: number) {
      const { view } = memoryNow();
      view.setUint32(countAt, encoded.length, true);
      view.setUint32(
        bytesAt,
        encoded.reduce((sum, arg) => sum + arg.length, 0),
        true,
      );
      return SUCCESS;
    },
    args_get(pointersAt: number, bytesAt: number) {
      const { view, bytes } = memoryNow();
      let at = bytesAt;
      encoded.forEach((arg, i) => {
        view.setUint32(pointersAt + 4 * i, at, true);
        bytes.set(arg, at);
        at += arg.length;
      });
      return SUCCESS;
    },
    clock_time_get(_clock: number, _precision: bigint, at: number) {
      memoryNow().view.setBigUint64(at, BigInt(Date.now()) * 1_000_000n, true);
      return SUCCESS;
    },
    fd_prestat_get(fd: number, at: number) {
      if (fd !== DIRECTORY) return BAD_DESCRIPTOR;
      const { view } = memoryNow();
      view.setUint32(at, 0, true);
      view.setUint32(at + 4, root.length, true);
      return SUCCESS;
    },
    fd_prestat_dir_name(fd: number, at: number) {
      if (fd !== DIRECTORY) return BAD_DESCRIPTOR;
      memoryNow().bytes.set(root, at);
      return SUCCESS;
    },
    fd_fdstat_get(fd: number, at: number) {
      const { view, bytes } = memoryNow();
      bytes.fill(0, at, at + 24);
      view.setUint8(at, fd === DIRECTORY ? 3 : fd < DIRECTORY ? 2 : 4);
      view.setBigUint64(at + 8, 0xffff_ffffn, true);
      view.setBigUint64(at + 16, 0xffff_ffffn, true);
      return SUCCESS;
    },
    path_open(...call: (number | bigint)[]) {
      const [, , pathAt, pathLength] = call as number[];
      const opened = call[8] as number;
      const { view, bytes } = memoryNow();
      const path = new TextDecoder().decode(bytes.slice(pathAt!, pathAt! + pathLength!));
      if (path !== 'out') return NOT_FOUND;
      view.setUint32(opened, FIRST_FILE + files.push(new MemoryFile()) - 1, true);
      return SUCCESS;
    },
    fd_write(fd: number, vectorsAt: number, count: number, writtenAt: number) {
      const { view, bytes } = memoryNow();
      let written = 0;
      for (let i = 0; i < count; i++) {
        const at = view.getUint32(vectorsAt + 8 * i, true);
        const length = view.getUint32(vectorsAt + 8 * i + 4, true);
        files[fd - FIRST_FILE]?.write(bytes.subarray(at, at + length));
        written += length;
      }
      view.setUint32(writtenAt, written, true);
      return SUCCESS;
    },
    fd_read(_fd: number, _vectorsAt: number, _count: number, readAt: number) {
      memoryNow().view.setUint32(readAt, 0, true);
      return SUCCESS;
    },
    fd_seek(fd: number, offset: bigint, whence: number, positionAt: number) {
      const file = files[fd - FIRST_FILE];
      if (file === undefined) return BAD_DESCRIPTOR;
      memoryNow().view.setBigUint64(positionAt, BigInt(file.seek(Number(offset), whence)), true);
      return SUCCESS;
    },
    fd_fdstat_set_flags: () => SUCCESS,
    fd_close: () => SUCCESS,
    proc_exit(code: number) {
      throw new ProgramExit(code);
    },
  };
}
