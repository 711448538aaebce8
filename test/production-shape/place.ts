/** The place of a process of the run: loopback, or its own host. */
export interface Place {
  /** The address on which it listens, and at which the others reach it. */
  address: string;
  /** Returns the command line that runs a program there. */
  at: (file: string, args: readonly string[]) => { file: string; args: readonly string[] };
}

export const LOOPBACK: Place = { address: '127.0.0.1', at: (file, args) => ({ file, args }) };
